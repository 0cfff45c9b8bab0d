import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { at, createTestSite } from './test-site.ts';
import { createTestWarehouse } from './test-warehouse.ts';

const { warehouse, client } = await createTestWarehouse();

async function rowsOf(sql: string): Promise<unknown[]> {
  const result = await client.query({
    query: sql,
    format: 'JSONCompactEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
  });
  return result.json();
}

const tables = ['events', 'visits', 'site_15m', 'path_day', 'session_properties'];

/** Rows that each table holds of the website. */
const rowCounts = async (websiteId: string) =>
  Promise.all(
    tables.map(async (table) => {
      const [row] = await rowsOf(`SELECT count() FROM ${table} WHERE website_id = '${websiteId}'`);
      return [row].flat()[0];
    }),
  );

/** What the rollups say: [table, key, pageviews] of each merged row. */
const rollupsOf = (websiteId: string) =>
  rowsOf(`SELECT * FROM (
    SELECT 'visits' AS source, concat(toString(first_at), ' ', toString(last_at), ' ', tupleElement(entry, 'path'), ' ', tupleElement(exit, 'path')) AS k, pageviews
      FROM visits FINAL WHERE website_id = '${websiteId}'
    UNION ALL SELECT 'site_15m', concat(toString(bucket), ' ', toString(custom_events)), pageviews FROM site_15m FINAL WHERE website_id = '${websiteId}'
    UNION ALL SELECT 'path_day', url_path, pageviews FROM path_day FINAL WHERE website_id = '${websiteId}'
    ) ORDER BY source, k`);

test('purge removes everything of a website, at once and from every table, and nothing of another', async () => {
  const [gone, kept] = [createTestSite(warehouse), createTestSite(warehouse)];
  for (const site of [gone, kept]) {
    await site.insert([{ t: '10:00' }, { t: '10:05', eventType: 2, eventName: 'x' }, { t: '10:06', eventType: 5 }]);
    const property = {
      websiteId: site.websiteId,
      sessionId: randomUUID(),
      eventId: randomUUID(),
      createdAtMs: 1,
      key: 'a',
    };
    await warehouse.insertSessionProperties([{ ...property, value: 'b' }], randomUUID());
  }
  await warehouse.purgeWebsite(gone.websiteId);
  expect(await rowCounts(gone.websiteId)).toEqual([0, 0, 0, 0, 0]);
  expect((await warehouse.getStats(gone.ask())).value.visits).toBe(0);
  expect(await rowCounts(kept.websiteId)).toEqual([3, 1, 1, 1, 1]);
  await warehouse.purgeWebsite(gone.websiteId);
});

test('a reset removes what was collected before it, whatever its event time, and the rollups tell of the rest', async () => {
  const site = createTestSite(warehouse);
  const reset = at('12:00');
  await site.insert([
    { t: '11:40', visit: 'straddling', urlPath: '/before' },
    { t: '11:59:59.999', visit: 'straddling', urlPath: '/before', eventType: 2, eventName: 'x' },
    { t: '12:00', visit: 'straddling', urlPath: '/after' },
    { t: '12:10', visit: 'straddling', urlPath: '/after-too' },
    { t: '09:00', visit: 'removed', urlPath: '/before' },
    { t: '12:05', visit: 'ahead', urlPath: '/ahead', collectedAt: reset - 1 },
    { t: '2026-06-01T00:00:00Z', visit: 'backfill', urlPath: '/backfill', collectedAt: reset + 1 },
  ]);
  await warehouse.purgeCollectedBefore(site.websiteId, new Date(reset));

  const { value } = await warehouse.listEvents(site.ask(), { offset: 0, limit: 10 });
  expect(value.rows.map((row) => row.urlPath)).toEqual(['/after-too', '/after', '/backfill']);
  expect(await rollupsOf(site.websiteId)).toEqual([
    ['path_day', '/after', 1],
    ['path_day', '/after-too', 1],
    ['path_day', '/backfill', 1],
    ['site_15m', '2026-06-01 00:00:00 0', 1],
    ['site_15m', '2026-06-10 12:00:00 0', 2],
    ['visits', '2026-06-01 00:00:00.000 2026-06-01 00:00:00.000 /backfill /backfill', 1],
    ['visits', '2026-06-10 12:00:00.000 2026-06-10 12:10:00.000 /after /after-too', 2],
  ]);
});

test('a reset may be repeated, and events collected after it go on counting', async () => {
  const site = createTestSite(warehouse);
  await site.insert([
    { t: '11:00', urlPath: '/a' },
    { t: '12:00', urlPath: '/b' },
  ]);
  for (let i = 0; i < 2; i++) await warehouse.purgeCollectedBefore(site.websiteId, new Date(at('11:30')));
  await site.insert([{ t: '12:01', urlPath: '/b' }]);
  expect(await rollupsOf(site.websiteId)).toEqual([
    ['path_day', '/b', 2],
    ['site_15m', '2026-06-10 12:00:00 0', 2],
    ['visits', '2026-06-10 12:00:00.000 2026-06-10 12:01:00.000 /b /b', 2],
  ]);
});

test('a reset leaves rollups that agree with the events while events go on arriving', async () => {
  const site = createTestSite(warehouse);
  await site.insert(
    Array.from({ length: 100 }, (_, i) => ({ t: at('11:40') + i, visit: `old${i % 50}`, urlPath: '/before' })),
  );
  let resetting = true;
  let inserted = 0;
  const arriving = (async () => {
    while (resetting) {
      const visits = [`old${inserted % 50}`, `new${inserted}`];
      await site.insert(visits.map((visit) => ({ t: at('12:00') + inserted, visit, urlPath: '/after' })));
      inserted += 1;
      await delay(300); // blocks come at a pace, as a worker's do
    }
  })();
  await warehouse.purgeCollectedBefore(site.websiteId, new Date(at('12:00'))).finally(() => {
    resetting = false;
  });
  await arriving;
  expect((await warehouse.getStats(site.ask())).value.pageviews).toBe(2 * inserted);
  const of = (expression: string, table: string) =>
    `(SELECT ${expression} FROM ${table} WHERE website_id = '${site.websiteId}')`;
  const counts = ['visits', 'site_15m', 'path_day'].map((table) => of('sum(pageviews)', table));
  expect(await rowsOf(`SELECT ${counts.join(', ')}, ${of('toUnixTimestamp64Milli(min(first_at))', 'visits')}`)).toEqual(
    [[2 * inserted, 2 * inserted, 2 * inserted, at('12:00')]],
  );
});

test('the visits rollup prefers the identified session, keeps early late-comers and marks visits whose attributes differ', async () => {
  const site = createTestSite(warehouse);
  await site.insert([{ t: '10:00', visit: 'v', session: 'anonymous', browser: 'Chrome' }]);
  await site.insert([
    { t: '09:50', visit: 'v', session: 'jane', distinctId: 'jane', browser: 'Chrome', urlPath: '/early' },
  ]);
  await site.insert([{ t: '10:00', visit: 'mixed', session: 'm', browser: 'Chrome' }]);
  await site.insert([{ t: '10:01', visit: 'mixed', session: 'm', browser: 'Firefox', eventType: 2, eventName: 'x' }]);
  const rows = await rowsOf(`
    SELECT toString(first_at), tupleElement(entry, 'path'), pageviews, bitShiftRight(visitor_key, 63) AS identified, attributes_min != attributes_max AS mixed
    FROM visits FINAL WHERE website_id = '${site.websiteId}' ORDER BY mixed`);
  expect(rows).toEqual([
    ['2026-06-10 09:50:00.000', '/early', 2, 1, 0],
    ['2026-06-10 10:00:00.000', '/', 1, 0, 1],
  ]);
});
