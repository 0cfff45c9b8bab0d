import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { rollupTables } from './rollups/repair.ts';
import { findWrongRows } from './rollups/test-rollups.ts';
import { at, createTestSite, type TestEvent, toBlock } from './test-site.ts';
import { createTestWarehouse } from './test-warehouse.ts';
import { runningInserts } from './until-inserts-end.ts';
import { createWarehouse, type Warehouse } from './warehouse.ts';

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

test('what a worker that died has sent is removed as well, though ClickHouse is not done with it', async () => {
  const dying = createWarehouse(database.url, { callMaxMs: 500 });
  const site = createTestSite(dying);
  await client.command({
    query: `CREATE MATERIALIZED VIEW slow_for_one_mv ENGINE = Null AS SELECT sleepEachRow(1) AS s FROM events WHERE website_id = '${site.websiteId}'`,
  });
  await expect(site.insert(longVisit)).rejects.toMatchObject({ name: 'WarehouseError' });
  await dying.close();
  expect(await runningInserts(client, undefined)).toHaveLength(1);
  await warehouse.purgeWebsite(site.websiteId);
  expect(await runningInserts(client, undefined)).toEqual([]);
  expect(await rowCounts(site.websiteId)).toEqual(noneOfAny);
});

/** So many that looking one path up in the projection reads less than the table. */
const manyEvents: TestEvent[] = Array.from({ length: 40_000 }, (_, i) => ({
  t: at('10:00') + i,
  session: `u${i % 100}`,
  urlPath: `/${i % 40}`,
  eventType: i % 2 ? 2 : 1,
  eventName: i % 2 ? 'buy' : '',
}));

const removals = [
  ['purge', ({ purgeWebsite }: Warehouse, websiteId: string) => purgeWebsite(websiteId)],
  [
    'reset',
    ({ purgeCollectedBefore }: Warehouse, websiteId: string) => purgeCollectedBefore(websiteId, new Date('2026-12-01')),
  ],
] as const;

for (const [what, remove] of removals)
  test(`after a ${what} nothing is found in the projection of events either, and no less of another website`, async () => {
    const [gone, kept] = [createTestSite(warehouse), createTestSite(warehouse)];
    const rows = [gone, kept].flatMap((site) => manyEvents.map(site.toRow));
    await warehouse.insertEvents(toBlock(rows), randomUUID());
    const eventsOf = async (websiteId: string, force_optimize_projection: 0 | 1) => {
      const found = await client.query({
        query: `SELECT toUInt32(count()) AS n FROM events WHERE website_id = '${websiteId}' AND event_type = 2 AND url_path = '/1'`,
        clickhouse_settings: { force_optimize_projection, optimize_use_implicit_projections: 0 },
        format: 'JSONEachRow',
      });
      return (await found.json<{ n: number }>())[0]?.n;
    };
    const ranking = { type: 'event', limit: 10, offset: 0 } as const;
    expect([await eventsOf(gone.websiteId, 1), await eventsOf(kept.websiteId, 1)]).toEqual([1_000, 1_000]);
    await remove(warehouse, gone.websiteId);
    expect([await eventsOf(gone.websiteId, 0), await eventsOf(kept.websiteId, 0)]).toEqual([0, 1_000]);
    expect((await warehouse.getMetrics(gone.ask(), ranking)).value).toEqual([]);
    const ofPath = gone.ask({ filters: [{ name: 'path', op: 'eq', values: ['/2'] }] });
    expect((await warehouse.getStats(ofPath)).value.pageviews).toBe(0);
    expect((await warehouse.getMetrics(kept.ask(), ranking)).value).toEqual([{ x: 'buy', y: 20_000 }]);
    expect(await findWrongRows(database.url)).toEqual([]);
  });

for (const [what, remove] of removals)
  test(`a ${what} that takes longer than any other call may is waited for`, async () => {
    const site = createTestSite(warehouse);
    await site.insert(longVisit);
    const callMaxMs = 300;
    const hasty = createWarehouse(database.url, { callMaxMs });
    await client.command({ query: 'SYSTEM STOP MERGES events' });
    const removed = remove(hasty, site.websiteId).then(() => 'done', String);
    const meanwhile = await Promise.race([removed, delay(4 * callMaxMs, 'goes on')]);
    await client.command({ query: 'SYSTEM START MERGES events' });
    expect([meanwhile, await removed]).toEqual(['goes on', 'done']);
    expect(await rowCounts(site.websiteId)).toEqual(noneOfAny);
    await hasty.close();
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

/**
 * Blocks of the website as a worker brings them: visits that go on, late events, one long ago, and blocks that come
 * twice. Stops when told; gives the number of pageviews.
 */
function keepArriving(site: ReturnType<typeof createTestSite>, neighbour = site): () => Promise<number> {
  let isOn = true;
  let pageviews = 0;
  const arriving = (async () => {
    for (let n = 0; isOn; n++) {
      const event = { t: at('12:00') + n * 1_000, visit: `old${n % 50}`, urlPath: `/after${n % 3}` };
      const rows = [
        site.toRow(event),
        site.toRow({ ...event, visit: `new${n}`, session: `${n % 4}`, pageTitle: 'Title' }),
        site.toRow({ ...event, t: event.t - 15 * 60_000, collectedAt: event.t, visit: `new${n}`, session: `${n % 4}` }),
        site.toRow({ ...event, t: at('2026-03-01T00:00Z') + n, collectedAt: event.t, visit: `past${n}` }),
        neighbour.toRow({ ...event, eventType: 2, eventName: 'x' }),
      ];
      const token = randomUUID();
      for (let times = n % 3 === 0 ? 2 : 1; times > 0; times--) await warehouse.insertEvents(toBlock(rows), token);
      pageviews += 4;
      await delay(200); // blocks come at a pace, as a worker's do
    }
  })();
  return async () => {
    isOn = false;
    await arriving;
    return pageviews;
  };
}

const before: TestEvent[] = Array.from({ length: 100 }, (_, i) => ({
  t: at('11:40') + i,
  visit: `old${i % 50}`,
  urlPath: '/before',
  collectedAt: at('11:40') + i,
}));
const always = { range: { startAt: new Date('2026-01-01'), endAt: new Date('2027-01-01') } };

/** As the worker does it while nothing is stored in part. */
async function reset({ purgeCollectedBefore, repairRollups }: Warehouse, websiteId: string): Promise<void> {
  await purgeCollectedBefore(websiteId, new Date(at('12:00')));
  await repairRollups(websiteId);
}

test('a reset leaves rollups that agree with the events while events go on arriving', async () => {
  const site = createTestSite(warehouse);
  await site.insert(before);
  const stop = keepArriving(site);
  await reset(warehouse, site.websiteId);
  const pageviews = await stop();
  expect((await warehouse.getStats(site.ask(always))).value.pageviews).toBe(pageviews);
  expect(await findWrongRows(database.url, site.websiteId)).toEqual([]);
}, 120_000);

test('two workers that reset one website at the same time, while events go on arriving, leave rollups that agree with the events', async () => {
  const site = createTestSite(warehouse);
  await site.insert(before);
  const stop = keepArriving(site);
  const other = createWarehouse(database.url);
  await Promise.all([warehouse, other].map((one) => reset(one, site.websiteId)));
  const pageviews = await stop();
  await other.close();
  expect((await warehouse.getStats(site.ask(always))).value.pageviews).toBe(pageviews);
  expect(await findWrongRows(database.url, site.websiteId)).toEqual([]);
}, 180_000);

test('a purge takes nothing from a website whose events arrive meanwhile in the same blocks as those of others', async () => {
  const [gone, kept, other] = [createTestSite(warehouse), createTestSite(warehouse), createTestSite(warehouse)];
  await gone.insert(before);
  const stop = keepArriving(kept, other);
  await warehouse.purgeWebsite(gone.websiteId);
  const pageviews = await stop();
  expect(await rowCounts(gone.websiteId)).toEqual(noneOfAny);
  expect((await warehouse.getStats(kept.ask(always))).value.pageviews).toBe(pageviews);
  for (const { websiteId } of [gone, kept, other]) expect(await findWrongRows(database.url, websiteId)).toEqual([]);
}, 120_000);
