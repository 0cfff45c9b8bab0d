import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { rollupTables } from './rollups.ts';
import { findWrongRows } from './test-rollups.ts';
import { at, createTestSite, type TestEvent } from './test-site.ts';
import { createTestWarehouse } from './test-warehouse.ts';

const { warehouse, client, database } = await createTestWarehouse();

const tables = ['events', ...rollupTables, 'session_properties'];

/** Rows that each table holds of the website, once they are merged. */
async function rowCounts(websiteId: string): Promise<Record<string, unknown>> {
  const counts = tables.map((table) => {
    const final = table === 'events' ? '' : 'FINAL';
    return `(SELECT count() FROM ${table} ${final} WHERE website_id = '${websiteId}') AS ${table}`;
  });
  const result = await client.query({
    query: `SELECT ${counts.join(', ')}`,
    format: 'JSONEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
  });
  const [row] = await result.json<Record<string, unknown>>();
  return row ?? {};
}

const oneOfEach = { site_visits: 1, stray_visits: 1, site_15m: 2, site_texts: 3, session_properties: 1 };
const noneOfAny = Object.fromEntries(tables.map((table) => [table, 0]));

/** A visit that goes on for so long that it is a stray one. */
const longVisit: TestEvent[] = [
  { t: '2026-06-09T10:00Z', urlPath: '/', pageTitle: 'Home' },
  { t: '10:05', eventType: 2, eventName: 'x' },
  { t: '10:06', eventType: 5 },
];

test('purge removes everything of a website, at once and from every table, and nothing of another', async () => {
  const [gone, kept] = [createTestSite(warehouse), createTestSite(warehouse)];
  for (const site of [gone, kept]) {
    await site.insert(longVisit);
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
  expect(await rowCounts(gone.websiteId)).toEqual(noneOfAny);
  expect((await warehouse.getStats(gone.ask())).value.visits).toBe(0);
  expect(await rowCounts(kept.websiteId)).toEqual({ events: 3, ...oneOfEach });
  expect(await findWrongRows(database.url)).toEqual([]);
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
  expect(await rowCounts(site.websiteId)).toMatchObject({
    site_visits: 2,
    stray_visits: 0,
    site_15m: 2,
    site_texts: 3,
  });
  expect(await findWrongRows(database.url, site.websiteId)).toEqual([]);
});

test('a reset may be repeated, and events collected after it go on counting', async () => {
  const site = createTestSite(warehouse);
  await site.insert([
    { t: '11:00', urlPath: '/a' },
    { t: '12:00', urlPath: '/b' },
  ]);
  for (let i = 0; i < 2; i++) await warehouse.purgeCollectedBefore(site.websiteId, new Date(at('11:30')));
  await site.insert([{ t: '12:01', urlPath: '/b' }]);
  expect((await warehouse.getStats(site.ask())).value).toMatchObject({ pageviews: 2, visits: 1 });
  expect(await findWrongRows(database.url, site.websiteId)).toEqual([]);
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
  expect(await findWrongRows(database.url, site.websiteId)).toEqual([]);
});
