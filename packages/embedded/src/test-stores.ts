import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { createClickHouseDatabase as createDatabase, runClickHouse } from './clickhouse-store.ts';
import { runPostgres } from './postgres-store.ts';
import { removeStores, startStores } from './stores.ts';

/** Counter in logical database 0 that says which one is next. */
const nextRedisDatabase = 'meridian:next-test-database';

/** A fresh, empty database in the PostgreSQL of this test run. */
export async function createPostgresDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const server = storeUrl('TEST_DATABASE_URL');
  const name = testDatabaseName();
  await runPostgres(server.href, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => void (await runPostgres(server.href, `DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

/** A fresh, empty database in the ClickHouse of this test run. `url` ends in its name. */
export async function createClickHouseDatabase(): Promise<{ url: string; database: string; drop(): Promise<void> }> {
  const server = storeUrl('TEST_CLICKHOUSE_URL');
  const database = testDatabaseName();
  await createDatabase(server.href, database);
  const url = new URL(server);
  url.pathname = `/${database}`;
  return {
    url: url.href,
    database,
    drop: async () => void (await runClickHouse(server.href, `DROP DATABASE ${database} SYNC`)),
  };
}

/**
 * A ClickHouse of its own, empty, for what is the server's and not a database's. `urlFor`: its address as one of the
 * users of infra/clickhouse, or as the one who may everything.
 */
export async function startOwnClickHouse(): Promise<{ urlFor(user?: ProductUser): string; stop(): Promise<void> }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'meridian-test-'));
  chmodSync(dataDir, 0o755);
  const stores = await startStores({ dataDir, only: ['clickhouse'], log: console.error });
  return {
    urlFor: (user) => {
      const url = new URL(stores.clickhouseUrl);
      if (user) url.username = user;
      return url.href;
    },
    stop: async () => {
      await stores.stop();
      await removeStores(dataDir);
    },
  };
}

export type ProductUser = 'meridian_migrator' | 'meridian_writer' | 'meridian_reader';

/**
 * An empty logical database of the Redis of this test run that nobody else has. Never one with data in it: they may be
 * somebody's.
 */
export async function createRedisDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const server = storeUrl('TEST_REDIS_URL');
  server.pathname = '/0'; // the counter's
  const url = new URL(server);
  await withRedis(server.href, async (redis) => {
    const [, count] = (await redis.config('GET', 'databases')) as [string, string];
    for (let tries = 1; tries < Number(count); tries++) {
      const number = 1 + ((await redis.incr(nextRedisDatabase)) % (Number(count) - 1));
      url.pathname = `/${number}`;
      if (!(await redis.info('keyspace')).includes(`db${number}:`)) return;
    }
    throw new Error(`All ${count} logical databases of the test Redis have data in them.`);
  });
  return { url: url.href, drop: () => withRedis(url.href, async (redis) => void (await redis.flushdb())) };
}

function storeUrl(name: string): URL {
  const url = process.env[name];
  if (!url) throw new Error(`${name} is not set: this test needs the project "stores" of vitest.config.ts.`);
  return new URL(url);
}

function testDatabaseName(): string {
  return `test_${randomUUID().replaceAll('-', '')}`;
}

async function withRedis(url: string, work: (redis: Redis) => Promise<void>): Promise<void> {
  const redis = new Redis(url, { maxRetriesPerRequest: 3 });
  try {
    await work(redis);
  } finally {
    redis.disconnect();
  }
}
