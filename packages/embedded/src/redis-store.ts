import { totalmem } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { resolveRedisExecutable } from './redis-executable.ts';
import type { StoreHost } from './store-host.ts';

/** The product uses one; tests use one per test file, and several runs share a server. They cost next to nothing. */
export const logicalDatabases = 2_000;

/** Every write is on the disk before it is acknowledged, and nothing is ever evicted. */
export const durableSettings = {
  appendonly: 'yes',
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
};

/** Share of the machine's memory that Redis may fill before it refuses writes. */
const memoryShare = 0.25;

/** Starts Redis on 127.0.0.1 and returns its address. */
export async function startRedis(host: StoreHost): Promise<string> {
  const { dataDir } = host;
  const executable = await resolveRedisExecutable(host.onProgress);
  return host.withProgress('redis', async () => {
    const directory = dataDir.makeDirectory('redis');
    const settings = {
      bind: '127.0.0.1',
      requirepass: dataDir.password, // in a file, since everybody can read the arguments of a process
      databases: logicalDatabases,
      ...durableSettings,
      save: '""',
      maxmemory: Math.floor(memoryMaxBytes() * memoryShare),
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}\n`);
    const configFile = dataDir.writeFile(join(directory, 'meridian.conf'), lines.join(''));
    const urlOf = (port: number) => `redis://:${dataDir.password}@127.0.0.1:${port}`;
    const port = await host.start('redis', {
      command: (port) => ({
        file: executable,
        args: [configFile, '--port', String(port), '--dir', directory],
        directory,
        reads: [],
      }),
      probe: (port) => probe(urlOf(port)),
    });
    return urlOf(port);
  });
}

/** Memory of the machine or, where it is less, what the container may use. */
function memoryMaxBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

/** Resolves when Redis has loaded its data and answers. */
async function probe(url: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {}); // also told by the rejected promise
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}
