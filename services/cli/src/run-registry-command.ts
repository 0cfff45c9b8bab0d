import { text } from 'node:stream/consumers';
import { createRegistry, type Registry } from '@meridian/registry/registry';
import { RegistryError } from '@meridian/registry/registry-error';
import { StartError } from '@meridian/runtime/process';
import { runAudit } from './audit-command.ts';
import { messageOf } from './checks/finding.ts';
import { type CliConfig, findInstallation, type Installation } from './config.ts';
import { runCreateAccount } from './create-account-command.ts';
import { runCreateKey } from './create-key-command.ts';
import { runCreateWebsite } from './create-website-command.ts';
import { runDeleteAccount } from './delete-account-command.ts';
import { type Print, printable } from './print.ts';

const answerMaxMs = 30_000;
/** Postgres's: a table, a column is not there. */
const unmigratedCodes = ['42P01', '42703'];

export type RegistryCommand = 'create-account' | 'create-key' | 'create-website' | 'delete-account' | 'audit';

/** Runs a command that works in Postgres alone. */
export async function runRegistryCommand(
  command: RegistryCommand,
  config: Readonly<CliConfig>,
  args: string[],
  print: Print,
): Promise<number> {
  const installation = findInstallation(config);
  const registry = createRegistry(installation.addresses.database(), { poolMax: 2, timeoutMs: answerMaxMs });
  try {
    return await tellingOfPostgres(() => run(command, registry, installation, args, print));
  } finally {
    await registry.close();
  }
}

/** Tells of what fails in Postgres with its variable, and what to do about it if that is known. */
export async function tellingOfPostgres<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    throw new StartError(`Postgres (DATABASE_URL): ${printable(messageOf(error))}${adviceFor(error)}`);
  }
}

function run(
  command: RegistryCommand,
  registry: Registry,
  { regions, region }: Installation,
  args: string[],
  print: Print,
): Promise<number> {
  switch (command) {
    case 'create-account':
      return runCreateAccount({ registry, regions, region, readInput: () => text(process.stdin) }, args, print);
    case 'create-key':
      return runCreateKey(registry, args, print);
    case 'create-website':
      return runCreateWebsite({ registry, regions }, args, print);
    case 'delete-account':
      return runDeleteAccount(registry, args, print);
    case 'audit':
      return runAudit(registry, args, print);
  }
}

function adviceFor({ cause }: RegistryError): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return unmigratedCodes.includes(code) ? '. Run: meridian migrate' : '';
}
