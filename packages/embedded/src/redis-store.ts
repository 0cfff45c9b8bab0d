import { totalmem } from 'node:os';
import { Redis } from 'ioredis';
import { resolveRedisExecutable } from './redis-executable.ts';
import type { StartedStore, StoreHost } from './store-host.ts';

/** Share of the machine's memory that Redis may fill before it refuses writes. */
const memoryShare = 0.25;

/**
 * Starts Redis. Every write is on the disk before it is acknowledged, and nothing is ever evicted.
 * @param databases number of logical databases
 */
export async function startRedis(host: StoreHost, databases: number): Promise<StartedStore> {
  const executable = await resolveRedisExecutable(host.onProgress);
  return host.withProgress('redis', async () => {
    const directory = host.makeDirectory('redis');
    const { port, stop } = await host.start('redis', {
      stopSignal: 'SIGTERM',
      command: (port) => ({ file: executable, args: redisArguments(directory, port, databases), directory }),
      probe: probeRedis,
    });
    return { url: `redis://127.0.0.1:${port}`, stop };
  });
}

function redisArguments(directory: string, port: number, databases: number): string[] {
  const settings = {
    port,
    bind: '127.0.0.1',
    'protected-mode': 'yes',
    dir: directory,
    databases,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    maxmemory: Math.floor(totalmem() * memoryShare),
    'maxmemory-policy': 'noeviction',
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/** Resolves when Redis has loaded its data and answers. */
async function probeRedis(port: number): Promise<void> {
  const redis = new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {}); // also told by the rejected promise
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}
