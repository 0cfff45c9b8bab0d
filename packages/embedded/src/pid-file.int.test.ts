import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { endOrphan, writePidFile } from './pid-file.ts';
import { findStartTime } from './process-identity.ts';

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'meridian-pid-'));
  file = join(directory, 'store.pid');
});
afterEach(() => rmSync(directory, { recursive: true }));

async function spawnSleeper() {
  const child = spawn('sleep', ['1000']);
  await once(child, 'spawn');
  return { child, pid: Number(child.pid), exit: once(child, 'exit') };
}

test('the process that was noted is ended', async () => {
  const { pid, exit } = await spawnSleeper();
  writePidFile(file, pid);
  await endOrphan(file);
  expect(await exit).toEqual([null, 'SIGINT']);
  expect(findStartTime(pid)).toBeNull();
  expect(existsSync(file)).toBe(false);
});

test('another process that has got its id since is left alone', async () => {
  const { child, pid, exit } = await spawnSleeper();
  writeFileSync(file, JSON.stringify({ pid, startTime: '1' }));
  await endOrphan(file);
  expect(findStartTime(pid)).not.toBeNull();
  child.kill('SIGTERM');
  expect(await exit).toEqual([null, 'SIGTERM']);
});

test('no file, or half of one, is no process', async () => {
  await endOrphan(file);
  writeFileSync(file, '{"pid": 1');
  await endOrphan(file);
});
