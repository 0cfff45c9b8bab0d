import { expect, test } from 'vitest';
import { createTestSite } from './test-site.ts';
import { createTestWarehouse } from './test-warehouse.ts';

const { warehouse, client } = await createTestWarehouse();
const [minuteMs, dayMs] = [60_000, 86_400_000];

test('what a retention of one day takes from a rollup before its events is no drift; what it cannot have touched still is', async () => {
  const site = createTestSite(warehouse);
  const now = Date.now();
  const midnight = Math.floor(now / dayMs) * dayMs;
  // The day of the first one has expired as a whole, and so has its visit's hour; the event itself has not.
  const times = [midnight - minuteMs, now - 5 * minuteMs, now];
  await site.insert(times.map((t) => ({ t, visit: String(t), session: String(t) })));
  await warehouse.setRetention(1);
  const daysLeft = async () => {
    await client.command({ query: 'OPTIMIZE TABLE path_day FINAL' });
    const answer = await client.query({
      query: `SELECT count() AS n FROM path_day WHERE day < toDate(fromUnixTimestamp64Milli(${midnight}), 'UTC')`,
      format: 'JSONEachRow',
    });
    return Number((await answer.json<{ n: string }>())[0]?.n);
  };
  await expect.poll(daysLeft, { timeout: 30_000 }).toBe(0);
  expect(await warehouse.findRollupDrift(new Date(now), {})).toEqual([]);

  await client.command({
    query: `DELETE FROM visits WHERE website_id = '${site.websiteId}'`,
    clickhouse_settings: { lightweight_deletes_sync: '2' },
  });
  expect(await warehouse.findRollupDrift(new Date(now), {})).toMatchObject([{ table: 'visits', inRollup: 0 }]);
});
