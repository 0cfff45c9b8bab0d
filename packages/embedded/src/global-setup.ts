import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Stores, startStores } from './stores.ts';
import { startTestcontainersStores } from './testcontainers-stores.ts';

/** Enough for every test file of many runs on the same server. */
const redisDatabases = 2_000;

/**
 * vitest's global setup: real stores for one run. Given by DATABASE_URL, CLICKHOUSE_URL and REDIS_URL; each one that is not given is
 * started here, in Docker with STORES=testcontainers. Rejects, and with it fails the run, when there are none.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const stores =
    process.env.STORES === 'testcontainers' ? await startTestcontainersStores(redisDatabases) : await embedded();
  process.env.TEST_DATABASE_URL = stores.databaseUrl;
  process.env.TEST_CLICKHOUSE_URL = stores.clickhouseUrl;
  process.env.TEST_REDIS_URL = stores.redisUrl;
  return stores.stop;
}

async function embedded(): Promise<Stores> {
  const dataDir = mkdtempSync(join(tmpdir(), 'meridian-test-'));
  const stores = await startStores({
    dataDir,
    databaseUrl: process.env.DATABASE_URL,
    clickhouseUrl: process.env.CLICKHOUSE_URL,
    redisUrl: process.env.REDIS_URL,
    redisDatabases,
    onProgress: console.log,
    log: console.error,
  });
  return {
    ...stores,
    async stop() {
      await stores.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
