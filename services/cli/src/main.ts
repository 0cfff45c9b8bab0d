import { ConfigError, loadConfig } from '@meridian/runtime/config';
import { StartError } from '@meridian/runtime/process';
import { messageOf } from './checks/finding.ts';
import { CliConfig } from './config.ts';
import { printable } from './print.ts';
import { runCommand } from './run-command.ts';
import { UsageError, usage } from './usage.ts';

const usageExitCode = 2;

async function run(): Promise<void> {
  const config = loadConfig(CliConfig, process.env);
  process.exitCode = await runCommand(config, process.argv.slice(2), console.log);
}

run().catch((error: unknown) => {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${usage}`);
    process.exitCode = usageExitCode;
    return;
  }
  const isExplained = error instanceof ConfigError || error instanceof StartError;
  console.error(isExplained ? error.message : printable(messageOf(error)));
  process.exitCode = 1;
});
