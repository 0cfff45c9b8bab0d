import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { startClickHouse } from './clickhouse-store.ts';
import { lockDataDir } from './data-dir-lock.ts';
import { startPostgres } from './postgres-store.ts';
import { startRedis } from './redis-store.ts';
import { createStoreHost, type StartedStore, type StoreName } from './store-host.ts';

export type StoresOptions = {
  /** Where the data live; made if absent. One process at a time. */
  dataDir: string;
  /** Addresses of external servers: a store that has one is not started. */
  databaseUrl?: string | undefined;
  clickhouseUrl?: string | undefined;
  redisUrl?: string | undefined;
  /** Ports to use; otherwise the ones of the last start if they are free, otherwise some free ones. */
  ports?: Partial<Record<StoreName, number>>;
  /** Number of logical databases of Redis. */
  redisDatabases?: number;
  /** Hears what takes longer than two seconds, such as `Preparing PostgreSQL …`. */
  onProgress?: (message: string) => void;
  /** Hears of stores that died and are started again. */
  log?: (message: string) => void;
};

export type Stores = {
  /** postgres://…/meridian */
  databaseUrl: string;
  /** http://host:port/meridian */
  clickhouseUrl: string;
  /** redis://host:port */
  redisUrl: string;
  /** Ends the stores that were started and lets go of the data directory. */
  stop(): Promise<void>;
};

/**
 * Starts PostgreSQL, ClickHouse and Redis on a data directory and keeps them running: one that dies is started again on its port.
 * What an earlier run left behind whose process was killed is ended first.
 * @throws DataDirInUseError when another process runs stores on the directory
 */
export async function startStores(options: StoresOptions): Promise<Stores> {
  const dataDir = resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true });
  const lock = lockDataDir(dataDir);
  const host = createStoreHost({
    dataDir,
    ports: options.ports ?? {},
    onProgress: options.onProgress ?? (() => {}),
    log: options.log ?? (() => {}),
  });
  const starts = await Promise.allSettled([
    options.databaseUrl ? external(options.databaseUrl) : startPostgres(host),
    options.clickhouseUrl ? external(options.clickhouseUrl) : startClickHouse(host),
    options.redisUrl ? external(options.redisUrl) : startRedis(host, options.redisDatabases ?? 16),
  ]);
  const stop = async () => {
    await Promise.all(starts.map((start) => start.status === 'fulfilled' && start.value.stop()));
    lock.release();
  };
  const [postgres, clickhouse, redis] = starts;
  if (postgres.status === 'fulfilled' && clickhouse.status === 'fulfilled' && redis.status === 'fulfilled') {
    return { databaseUrl: postgres.value.url, clickhouseUrl: clickhouse.value.url, redisUrl: redis.value.url, stop };
  }
  await stop();
  throw starts.find((start) => start.status === 'rejected')?.reason;
}

async function external(url: string): Promise<StartedStore> {
  return { url, stop: async () => {} };
}
