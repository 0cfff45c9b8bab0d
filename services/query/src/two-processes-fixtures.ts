import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { createTestApi } from './query-fixtures.ts';

/** For tests: two processes of the API, over the same stores; they are asked for no statistics. */
export async function createTwoProcesses() {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  const api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
  const other = await api.newProcess();
  const close = async (): Promise<void> => {
    await other.close();
    await api.close();
  };
  return { api, other, close };
}
