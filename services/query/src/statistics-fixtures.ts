import { createClickHouseDatabase, createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { createTestSite, type TestEvent } from '@meridian/warehouse/test-site';
import { createTestApi } from './query-fixtures.ts';

type Query = Record<string, string | number | string[]>;

/** The month that is asked about when a query has no bound. */
const june = {
  startAt: Date.parse('2026-06-01T00:00:00Z'),
  endAt: Date.parse('2026-06-30T23:59:59.999Z'),
};
const bounds = ['startAt', 'endAt', 'startDate', 'endDate'];

/** '?a=1&b=2&b=3', in June 2026 unless the query has a bound. */
function queryString(query: Query): string {
  const ranged = bounds.some((name) => name in query) ? query : { ...june, ...query };
  const pairs = Object.entries(ranged).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]));
  return `?${new URLSearchParams(pairs as [string, string][])}`;
}

/** For tests: the query API over real stores, and websites with events in them. */
export async function createStatisticsApi() {
  const [postgres, redis, clickhouse] = await Promise.all([
    createPostgresDatabase(),
    createRedisDatabase(),
    createClickHouseDatabase(),
  ]);
  const api = await createTestApi({ postgres, redis, clickhouseUrl: clickhouse.url });
  await api.deps.warehouse.migrate();
  const { token } = await api.newAccount();

  /** A new website of the caller that holds these events. */
  const siteWith = async (events: TestEvent[] = []) => {
    const { id } = await api.ok('POST', '/websites', { token, body: { name: 'Shop', domain: 'shop.example' } });
    const site = createTestSite(api.deps.warehouse, id);
    if (events.length > 0) await site.insert(events);
    const get = (path: string, query: Query = {}) =>
      api.call('GET', `/websites/${id}${path}${queryString(query)}`, { token });
    const ask = async (path: string, query: Query = {}) => {
      const { status, json, text } = await get(path, query);
      if (status !== 200) throw new Error(`${path} ${JSON.stringify(query)}: ${status} ${text}`);
      return json;
    };
    return { id, insert: site.insert, get, ask };
  };

  const close = async () => {
    await api.close();
    await clickhouse.drop();
  };
  return { ...api, token, siteWith, close };
}
