import { createClickHouseDatabase, createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';

/** Empty databases in the stores of the test run, and the environment in which the product finds them. */
export async function createStores() {
  const stores = await Promise.all([createPostgresDatabase(), createClickHouseDatabase(), createRedisDatabase()]);
  const [postgres, clickhouse, redis] = stores;
  return {
    env: { DATABASE_URL: postgres.url, CLICKHOUSE_URL: clickhouse.url, REDIS_URL: redis.url },
    drop: async () => {
      await Promise.all(stores.map((store) => store.drop()));
    },
  };
}
