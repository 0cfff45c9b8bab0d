import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@meridian/embedded/ports';
import { resolveRedisExecutable } from '@meridian/embedded/redis-executable';
import { Redis } from 'ioredis';

/**
 * For event logs in tests that are not about slowness: more patient than a collector, since the machine may be busy.
 */
export const patience = { commandTimeout: 31_000, appendMaxWaitMs: 30_000 };

/** A connection as a collector has it: fails fast and never sends a command again. */
export async function connectProducer(url: string, commandTimeout = 1_000): Promise<Redis> {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout,
    retryStrategy: () => 50,
    lazyConnect: true,
  });
  redis.on('error', () => {}); // the tests look at what becomes of the commands
  await redis.connect();
  return redis;
}

/** A connection as a worker has it: waits for Redis. */
export async function connectWorker(url: string): Promise<Redis> {
  const redis = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 50, lazyConnect: true });
  redis.on('error', () => {}); // it comes back
  await redis.connect();
  return redis;
}

/** A Redis process that one test may stop, kill and start again. */
export type OwnRedis = {
  url: string;
  pid(): number;
  running(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** By SIGKILL unless another signal is given; resolves when it has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  /** While it is not running: loses the last bytes of what it wrote, as a host does whose power fails. */
  loseTail(bytes: number): Promise<void>;
  remove(): Promise<void>;
};

/**
 * Writes every answered command to disk first, as ours is set up. Trap: with `everysec` Redis keeps what it has
 * answered in memory for up to two seconds while the disk is slow, and a kill loses it.
 * `changes`: other settings of redis.conf than that, also for its next starts.
 */
export async function startOwnRedis(changes: Record<string, string> = {}): Promise<OwnRedis> {
  const executable = await resolveRedisExecutable(() => {});
  const directory = await mkdtemp(join(tmpdir(), 'meridian-redis-'));
  const port = await freePort();
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: directory,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    ...changes,
  };
  let server: ChildProcess;

  async function start(): Promise<void> {
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
    // A file that may not grow is an error to Redis then, as a full disk is, and no signal that ends it.
    server = spawn('sh', ['-c', 'trap "" XFSZ; exec "$0" "$@"', executable, ...args], { stdio: 'ignore' });
    const redis = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 20, maxRetriesPerRequest: null });
    redis.on('error', () => {}); // not up yet
    await redis.ping();
    redis.disconnect();
  }
  const running = (): boolean => server.exitCode === null && server.signalCode === null;

  async function kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!running()) return;
    const exited = once(server, 'exit');
    server.kill(signal);
    await exited;
  }

  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: () => server.pid ?? 0,
    running,
    signal: (signal) => void server.kill(signal),
    start,
    kill,
    async loseTail(bytes) {
      const folder = join(directory, 'appendonlydir');
      const [name = ''] = (await readdir(folder)).filter((file) => file.endsWith('.incr.aof'));
      const { size } = await stat(join(folder, name));
      await truncate(join(folder, name), size - bytes);
    },
    async remove() {
      await kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
