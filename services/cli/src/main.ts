import { ConfigError, loadConfig } from '@meridian/runtime/config';
import { StartError } from '@meridian/runtime/process';
import { messageOf } from './checks/finding.ts';
import { CliConfig } from './config.ts';
import { printable } from './print.ts';
import { runCommand } from './run-command.ts';
import { isHelp, UsageError, usage } from './usage.ts';

const usageExitCode = 2;

async function run(args: readonly string[]): Promise<number> {
  try {
    if (isHelp(args)) {
      console.log(usage);
      return 0;
    }
    return await runCommand(loadConfig(CliConfig, process.env), args, console.log);
  } catch (error) {
    if (error instanceof UsageError) console.error(`${error.message}\n\n${usage}`);
    else if (error instanceof ConfigError || error instanceof StartError) console.error(error.message);
    else console.error(printable(messageOf(error)));
    return error instanceof UsageError || error instanceof ConfigError ? usageExitCode : 1;
  }
}

/** What was to be printed did not arrive. */
function giveUp(error: NodeJS.ErrnoException): never {
  // EPIPE: whoever read it has seen enough.
  if (error.code !== 'EPIPE') console.error(`Standard output: ${error.message}`);
  process.exit(1);
}

process.stdout.on('error', giveUp);
const exitCode = await run(process.argv.slice(2));
// A question to a store that hangs would keep the process alive. What was printed has left it first.
process.stdout.write('', (error) => (error ? giveUp(error) : process.exit(exitCode)));
