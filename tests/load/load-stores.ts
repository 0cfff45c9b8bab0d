import { startStores } from '@meridian/embedded/stores';
import { hashPassword } from '@meridian/registry/credentials';
import { migrate } from '@meridian/registry/migrate';
import { createRegistry } from '@meridian/registry/registry';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { Redis } from 'ioredis';

export type Fsync = 'everysec' | 'always';
export type LoadStores = Awaited<ReturnType<typeof startLoadStores>>;

const websiteCount = 20;

/** The account that owns the websites, an administrator. */
export const owner = { username: 'load', password: 'a password of the load test' };

/** Stores of the measurement alone, with websites in them. ClickHouse only when it is wanted. */
export async function startLoadStores(dataDir: string, withClickHouse: boolean) {
  const stores = await startStores({
    dataDir,
    only: withClickHouse ? ['postgres', 'clickhouse', 'redis'] : ['postgres', 'redis'],
  });
  await migrate(stores.databaseUrl);
  if (withClickHouse) await createWarehouse(stores.clickhouseUrl).migrate();
  const redis = new Redis(stores.redisUrl);
  const clickhouse = (settings: Record<string, string>, body?: Buffer<ArrayBuffer>) =>
    askClickHouse(stores.clickhouseUrl, settings, body);
  return {
    env: { DATABASE_URL: stores.databaseUrl, CLICKHOUSE_URL: stores.clickhouseUrl, REDIS_URL: stores.redisUrl },
    redis,
    websites: await createWebsites(stores.databaseUrl),
    /** When Redis has its log on the disk: before it answers, or within a second. */
    setFsync: async (fsync: Fsync) => void (await redis.config('SET', 'appendfsync', fsync)),
    /** Removes everything that was collected, so that one stretch does not weigh on the next. */
    emptyLog: async () => void (await redis.flushall()),
    /** Removes everything that was stored. */
    async emptyWarehouse(): Promise<void> {
      const tables = await clickhouse({
        query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'schema_migrations'`,
      });
      for (const table of tables.toString().trim().split('\n')) await clickhouse({ query: `TRUNCATE TABLE ${table}` });
    },
    /**
     * One statement for ClickHouse, in the product's database. `settings`: of ClickHouse, with the statement as
     * `query`.
     */
    clickhouse,
    async stop() {
      redis.disconnect();
      await stores.stop();
    },
  };
}

async function createWebsites(databaseUrl: string): Promise<string[]> {
  const registry = createRegistry(databaseUrl);
  const passwordHash = await hashPassword(owner.password);
  const operator = { userId: null, name: 'load test', keyId: null, requestId: null };
  const user = await registry.createUser(
    { username: owner.username, passwordHash, role: 'admin', homeRegion: 'us' },
    operator,
  );
  if (!user.ok) throw new Error(user.reason);
  const { id: userId } = user.user;
  const ids: string[] = [];
  for (let i = 0; i < websiteCount; i++) {
    const website = { name: `load ${i}`, domain: 'shop.example', userId, createdBy: userId, region: 'us' as const };
    const created = await registry.createWebsite(website, operator);
    if (!created.ok) throw new Error(created.reason);
    ids.push(created.website.id);
  }
  await registry.close();
  return ids;
}

async function askClickHouse(
  url: string,
  settings: Record<string, string>,
  body?: Buffer<ArrayBuffer>,
): Promise<Buffer<ArrayBuffer>> {
  const { origin, username, password, pathname } = new URL(url);
  const parameters = new URLSearchParams({ database: pathname.slice(1), ...settings });
  const response = await fetch(`${origin}/?${parameters}`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
    ...(body && { body }),
  });
  const answer = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`ClickHouse: ${answer}`);
  return answer;
}
