import { chmodSync, existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeStores, type Stores, startStores } from './stores.ts';
import { type GivenStores, startTestcontainersStores } from './testcontainers-stores.ts';

const dataDirPrefix = 'meridian-test-';

/**
 * vitest's global setup: real stores for one run. DATABASE_URL, CLICKHOUSE_URL and REDIS_URL each give one; those that
 * are not given are started, in Docker with STORES=testcontainers. Rejects, and with it fails the run, when that is not
 * possible.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const given = {
    databaseUrl: process.env.DATABASE_URL || undefined,
    clickhouseUrl: process.env.CLICKHOUSE_URL || undefined,
    redisUrl: process.env.REDIS_URL || undefined,
  };
  const start = process.env.STORES === 'testcontainers' ? startTestcontainersStores : startEmbedded;
  const stores = await start(given);
  process.env.TEST_DATABASE_URL = stores.databaseUrl;
  process.env.TEST_CLICKHOUSE_URL = stores.clickhouseUrl;
  process.env.TEST_REDIS_URL = stores.redisUrl;
  return stores.stop;
}

async function startEmbedded(given: GivenStores): Promise<Stores> {
  await removeAbandonedStores();
  const dataDir = mkdtempSync(join(tmpdir(), dataDirPrefix));
  chmodSync(dataDir, 0o755);
  const stores = await startStores({
    dataDir,
    ...given,
    onProgress: console.log,
    log: console.error,
  });
  return {
    ...stores,
    async stop() {
      await stores.stop();
      await removeStores(dataDir).catch(() => {}); // another run that starts just now may be doing it
    },
  };
}

/** A run that was killed could not remove its stores. */
async function removeAbandonedStores(): Promise<void> {
  const abandoned = readdirSync(tmpdir())
    .filter((name) => name.startsWith(dataDirPrefix))
    .map((name) => join(tmpdir(), name))
    .filter((dataDir) => existsSync(join(dataDir, 'lock'))); // one without is just being made
  // Those that are in use or belong to somebody else cannot be removed and shall not.
  await Promise.allSettled(abandoned.map(removeStores));
}
