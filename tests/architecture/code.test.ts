import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What the command complains of; '' when it is content. */
function complaints(command: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? '' : `${stdout}${stderr}` || `${command} could not be run`;
}

test('the code is formatted and free of lint', () => {
  expect(complaints('node_modules/.bin/biome', ['check', '--max-diagnostics=20', '.'])).toBe('');
}, 300_000);

test('the types are right', () => {
  expect(complaints('node_modules/.bin/tsc', ['--noEmit', '-p', '.'])).toBe('');
}, 300_000);
