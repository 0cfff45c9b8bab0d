import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { afterEach, expect, test, vi } from 'vitest';
import { findStartTime } from './process-identity.ts';
import { removeStores } from './stores.ts';

const mainFile = fileURLToPath(new URL('./main.ts', import.meta.url));
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test('after SIGKILL of the process its stores end, and the next start has the data', async () => {
  const dataDir = makeDataDir();
  const killed = await startMain(dataDir);
  await withRedis(killed.redisUrl, (redis) => redis.set('key', 'value'));
  const left = storePids(dataDir);
  expect(left.length).toBe(3);
  killed.process.kill('SIGKILL');
  await vi.waitUntil(() => left.every((pid) => !findStartTime(pid)), 20_000);
  const next = await startMain(dataDir);
  expect(next.redisUrl).toBe(killed.redisUrl);
  await withRedis(next.redisUrl, async (redis) => expect(await redis.get('key')).toBe('value'));
});

test('Ctrl-C reaches the process only, which then ends the stores in order', async () => {
  const dataDir = makeDataDir();
  const { process: main, output } = await startMain(dataDir);
  const pids = storePids(dataDir);
  process.kill(-Number(main.pid), 'SIGINT'); // to the whole group, as a terminal does
  expect(await once(main, 'exit')).toEqual([0, null]);
  expect(pids.filter((pid) => findStartTime(pid))).toEqual([]);
  expect(storePids(dataDir)).toEqual([]);
  expect(readFileSync(join(dataDir, 'logs', 'postgres.log'), 'utf8')).toContain('database system is shut down');
  expect(output()).not.toContain('unexpectedly');
});

test('a second start says which process has the data and exits with 1', async () => {
  const dataDir = makeDataDir();
  const { process: main } = await startMain(dataDir);
  const second = spawnMain(dataDir);
  const [errors, [code]] = await Promise.all([text(second.stderr), once(second, 'exit')]);
  expect(errors).toContain(`in use by process ${main.pid}`);
  expect(code).toBe(1);
});

function makeDataDir(): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'meridian-embedded-'));
  chmodSync(dataDir, 0o755);
  cleanups.push(() => removeStores(dataDir));
  return dataDir;
}

function spawnMain(dataDir: string) {
  const main = spawn(process.execPath, ['--import', 'tsx', mainFile], {
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a process group of its own, as a shell makes one
  });
  cleanups.push(() => endProcess(main));
  return main;
}

/** Runs main.ts until it has printed the addresses. */
async function startMain(dataDir: string) {
  const main = spawnMain(dataDir);
  let output = '';
  for (const stream of [main.stdout, main.stderr]) stream.on('data', (chunk) => (output += chunk));
  while (!output.includes('REDIS_URL=')) {
    if (main.exitCode !== null) throw new Error(output);
    await Promise.race([once(main.stdout, 'data'), once(main, 'exit')]);
  }
  const redisUrl = output.match(/^REDIS_URL=(.*)$/m)?.[1] ?? '';
  return { process: main, redisUrl, output: () => output };
}

async function endProcess(main: ChildProcess): Promise<void> {
  if (main.exitCode !== null || main.signalCode !== null) return;
  main.kill('SIGTERM');
  await once(main, 'exit');
}

function storePids(dataDir: string): number[] {
  const directory = join(dataDir, 'run');
  const files = readdirSync(directory).filter((name) => name.endsWith('.pid'));
  return files.map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')).pid);
}

async function withRedis(url: string, use: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(url);
  try {
    await use(redis);
  } finally {
    redis.disconnect();
  }
}
