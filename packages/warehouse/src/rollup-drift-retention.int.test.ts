import { expect, test } from 'vitest';
import { createTestSite } from './test-site.ts';
import { createTestWarehouse } from './test-warehouse.ts';

const { warehouse, client } = await createTestWarehouse();
const [minuteMs, dayMs] = [60_000, 86_400_000];

test('what a retention of one day takes from a rollup before its events is no drift; what it cannot have touched still is', async () => {
  const site = createTestSite(warehouse);
  const now = Date.now();
  const midnight = Math.floor(now / dayMs) * dayMs;
  const times = [midnight - dayMs - minuteMs, now - 5 * minuteMs, now];
  await site.insert(times.map((t) => ({ t, visit: String(t), session: String(t) })));
  await warehouse.setRetention(1);
  const isOldGone = async () => {
    await client.command({ query: 'OPTIMIZE TABLE site_15m FINAL' });
    const answer = await client.query({
      query: `SELECT min(bucket) >= fromUnixTimestamp64Milli(${midnight - dayMs}, 'UTC') AS gone FROM site_15m`,
      format: 'JSONEachRow',
    });
    return (await answer.json<{ gone: number }>())[0]?.gone;
  };
  await expect.poll(isOldGone, { timeout: 30_000 }).toBe(1);
  expect(await warehouse.findRollupDrift(new Date(now), {})).toEqual([]);

  await client.command({
    query: `DELETE FROM site_visits WHERE website_id = '${site.websiteId}'`,
    clickhouse_settings: { lightweight_deletes_sync: '2' },
  });
  expect(await warehouse.findRollupDrift(new Date(now), {})).toMatchObject([{ table: 'site_visits', inRollup: 0 }]);
});
