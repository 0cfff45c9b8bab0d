import { execFile } from 'node:child_process';
import { root } from './processes.ts';

/** What a command printed, and its exit code. */
export type CommandResult = { code: number; stdout: string; stderr: string };

/** Runs `meridian …` as an operator does, with these variables and those of the system only. */
export function runMeridian(env: Record<string, string>, ...args: string[]): Promise<CommandResult> {
  const { PATH = '', HOME = '', LANG = '' } = process.env;
  const options = { cwd: root, env: { PATH, HOME, LANG, ...env } };
  return new Promise((resolve) => {
    execFile('node_modules/.bin/meridian', args, options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}
