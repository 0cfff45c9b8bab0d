import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { startClickHouse } from './clickhouse-store.ts';
import { endOrphans, openDataDir } from './data-dir.ts';
import { lockDataDir } from './data-dir-lock.ts';
import { startPostgres } from './postgres-store.ts';
import { startRedis } from './redis-store.ts';
import { createStoreHost, type StoreName, storeNames } from './store-host.ts';

export type StoresOptions = {
  /** Where the data live; made if absent. One process at a time. */
  dataDir: string;
  /** Addresses of external servers: a store that has one is not started. */
  databaseUrl?: string | undefined;
  clickhouseUrl?: string | undefined;
  redisUrl?: string | undefined;
  /** The stores to start; all unless given. */
  only?: readonly StoreName[];
  /** Ports to use; otherwise the ones of the last start if they are free, otherwise some free ones. */
  ports?: Partial<Record<StoreName, number>>;
  /**
   * More settings of ClickHouse than those it has here, as a file of its config.d: what makes it a node of a cluster.
   */
  clickhouseConfig?: string;
  /** Hears what takes longer than two seconds, such as `Preparing PostgreSQL …`. */
  onProgress?: (message: string) => void;
  /** Hears of stores that died and are started again. */
  log?: (message: string) => void;
};

/** Addresses of stores that answer, with passwords in them; '' of one that is neither given nor started. */
export type Stores = {
  /** postgres://user:password@host:port/meridian */
  databaseUrl: string;
  /** http://user:password@host:port/meridian */
  clickhouseUrl: string;
  /** redis://:password@host:port */
  redisUrl: string;
  /** Ends the stores that were started and lets go of the data directory. */
  stop(): Promise<void>;
};

/**
 * Starts the stores on a data directory and keeps them running: one that dies is started again on its port.
 * What an earlier run left behind whose process was killed is ended first.
 * @throws DataDirInUseError when another process runs stores on the directory
 */
export async function startStores(options: StoresOptions): Promise<Stores> {
  const { only = storeNames, onProgress = () => {}, log = () => {}, ports = {} } = options;
  const dataDir = resolve(options.dataDir);
  const lock = lockDataDir(dataDir);
  const host = createStoreHost({ dataDir: openDataDir(dataDir), ports, onProgress, log });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= host.stopAll().finally(() => {
      host.dataDir.noteAddresses(null);
      lock.release();
    });
    return stopped;
  };
  try {
    await endOrphans(dataDir);
    const starts = [
      options.databaseUrl ?? (only.includes('postgres') ? startPostgres(host) : ''),
      options.clickhouseUrl ?? (only.includes('clickhouse') ? startClickHouse(host, options.clickhouseConfig) : ''),
      options.redisUrl ?? (only.includes('redis') ? startRedis(host) : ''),
    ] as const;
    await Promise.allSettled(starts); // none may start after the others have been stopped
    const [databaseUrl, clickhouseUrl, redisUrl] = await Promise.all(starts);
    host.dataDir.noteAddresses({
      ...(!options.databaseUrl && databaseUrl && { databaseUrl }),
      ...(!options.clickhouseUrl && clickhouseUrl && { clickhouseUrl }),
      ...(!options.redisUrl && redisUrl && { redisUrl }),
    });
    return { databaseUrl, clickhouseUrl, redisUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Deletes a data directory, and ends what still runs on it after its process was killed.
 * @throws DataDirInUseError when a process runs stores on it
 */
export async function removeStores(dataDir: string): Promise<void> {
  const lock = lockDataDir(dataDir);
  try {
    await endOrphans(dataDir);
    rmSync(dataDir, { recursive: true });
  } finally {
    lock.release();
  }
}
