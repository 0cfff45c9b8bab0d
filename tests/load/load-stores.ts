import { startStores } from '@meridian/embedded/stores';
import { migrate } from '@meridian/registry/migrate';
import { createRegistry } from '@meridian/registry/registry';
import { Redis } from 'ioredis';

export type Fsync = 'everysec' | 'always';
export type LoadStores = Awaited<ReturnType<typeof startLoadStores>>;

const websiteCount = 20;

/** Stores of the measurement alone, with websites in them. */
export async function startLoadStores(dataDir: string) {
  // No measurement asks ClickHouse yet.
  const stores = await startStores({ dataDir, clickhouseUrl: 'http://127.0.0.1:9/meridian' });
  await migrate(stores.databaseUrl);
  const redis = new Redis(stores.redisUrl);
  return {
    env: { DATABASE_URL: stores.databaseUrl, REDIS_URL: stores.redisUrl },
    redis,
    websites: await createWebsites(stores.databaseUrl),
    /** When Redis has its log on the disk: before it answers, or within a second. */
    setFsync: async (fsync: Fsync) => void (await redis.config('SET', 'appendfsync', fsync)),
    /** Removes everything that was collected, so that one stretch does not weigh on the next. */
    emptyLog: async () => void (await redis.flushall()),
    async stop() {
      redis.disconnect();
      await stores.stop();
    },
  };
}

async function createWebsites(databaseUrl: string): Promise<string[]> {
  const registry = createRegistry(databaseUrl);
  const owner = await registry.createUser({ username: 'load', passwordHash: 'none', role: 'user', homeRegion: 'us' });
  if (!owner.ok) throw new Error(owner.reason);
  const { id: userId } = owner.user;
  const ids: string[] = [];
  for (let i = 0; i < websiteCount; i++) {
    const website = { name: `load ${i}`, domain: 'shop.example', userId, createdBy: userId, region: 'us' as const };
    const created = await registry.createWebsite(website);
    if (!created.ok) throw new Error(created.reason);
    ids.push(created.website.id);
  }
  await registry.close();
  return ids;
}
