import { expect, test } from 'vitest';
import { createTestSite } from './test-site.ts';
import { createTestWarehouse } from './test-warehouse.ts';

const { warehouse, client } = await createTestWarehouse();
const now = new Date('2026-06-10T12:00:00Z');

test('rollups that were filled by the views agree with their events; one that counts otherwise is named with both counts', async () => {
  const site = createTestSite(warehouse);
  const times = ['2026-06-07T08:00', '2026-06-08T23:50', '2026-06-09T00:00', '2026-06-09T00:10', '10:00', '10:20'];
  await site.insert(times.map((t) => ({ t: t.length > 5 ? `${t}Z` : t, urlPath: `/${t}`, visit: t.slice(0, 10) })));
  await site.insert([
    { t: '10:30', visit: '10:00', eventType: 2, eventName: 'buy' },
    { t: '10:31', visit: '10:00', eventType: 5, lcp: 1 },
  ]);
  expect(await warehouse.findRollupDrift(now, {})).toEqual([]);

  for (const [table, columns, values] of [
    ['site_15m', 'website_id, bucket, pageviews, custom_events', `'2026-06-10 10:00:00', 2, 0`],
    ['site_texts', 'website_id, month, kind, text, events', `'2026-06-01', 'path', '/10:00', -1`],
  ])
    await client.command({ query: `INSERT INTO ${table} (${columns}) VALUES ('${site.websiteId}', ${values})` });
  await client.command({
    query: `DELETE FROM site_visits WHERE website_id = '${site.websiteId}' AND start_hour = '2026-06-10 10:00:00'`,
    clickhouse_settings: { lightweight_deletes_sync: '2' },
  });
  const { websiteId } = site;
  expect(await warehouse.findRollupDrift(now, {})).toEqual([
    { websiteId, table: 'site_15m', inEvents: 7, inRollup: 9 },
    { websiteId, table: 'site_texts', inEvents: 8, inRollup: 7 },
    { websiteId, table: 'site_visits', inEvents: 6, inRollup: 4 },
  ]);
});
