import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@clickhouse/client';
import { createClickHouseDatabase } from '@meridian/embedded/test-stores';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { clientOptions } from './client.ts';
import type { EventRow } from './event-row.ts';
import { fillPlaceholders, migrationNames, migrationsDir, splitStatements } from './migrate.ts';
import { createRollupCheck } from './rollups/check.ts';
import { rollupTables } from './rollups/repair.ts';
import { findWrongRows } from './rollups/test-rollups.ts';
import { applyFirstSchema } from './test-first-schema.ts';
import { at, createTestSite, toBlock } from './test-site.ts';
import { createWarehouse } from './warehouse.ts';

const hourMs = 3_600_000;

let database: Awaited<ReturnType<typeof createClickHouseDatabase>>;
let client: ReturnType<typeof createClient>;
let warehouse: ReturnType<typeof createWarehouse>;

/** A database as the version before left it. */
beforeEach(async () => {
  database = await createClickHouseDatabase();
  client = createClient(clientOptions(parseClickHouseUrl(database.url)));
  warehouse = createWarehouse(database.url, { readFrom: 'rollups' });
  await applyFirstSchema(database.url);
});
afterEach(async () => {
  await Promise.all([client.close(), warehouse.close()]);
  await database.drop();
});

async function scalar(query: string): Promise<string> {
  return (await (await client.query({ query, format: 'TabSeparated' })).text()).trim();
}

/** As the worker stores: under one token until it is told that the block is stored. */
async function store(rows: readonly EventRow[]): Promise<void> {
  const token = randomUUID();
  for (;;) {
    try {
      return await warehouse.insertEvents(toBlock(rows), token);
    } catch {
      await delay(50);
    }
  }
}

/**
 * Stores blocks of several websites until it is stopped: visits that go on, late events, a month ago, and blocks that
 * come twice.
 */
function keepStoring(sites: readonly ReturnType<typeof createTestSite>[]) {
  const stored = { pageviews: 0, begun: 0 };
  let isOn = true;
  const storing = (async () => {
    for (let n = 0; isOn; n++) {
      const who = { session: `s${n % 7}`, visit: `v${n % 30}` };
      const t = at('10:00') + n * 1_000;
      const block = sites.flatMap((site) => [
        site.toRow({ ...who, t, urlPath: `/${n % 5}`, pageTitle: `Title ${n % 3}` }),
        site.toRow({ ...who, t: t - 20 * 60_000, urlPath: '/late', referrerDomain: 'a.example' }),
        site.toRow({ ...who, t: t - 30 * 24 * hourMs, visit: `old ${n}`, urlPath: '/old' }),
        site.toRow({ ...who, t, eventType: 2, eventName: 'buy' }),
      ]);
      stored.begun += 3;
      await store(block);
      stored.pageviews += 3;
      if (n % 4 === 0) {
        const [token, again] = [
          randomUUID(),
          toBlock(sites.map((site) => site.toRow({ ...who, t, urlPath: '/twice' }))),
        ];
        stored.begun += 1;
        await warehouse.insertEvents(again, token).catch(() => {});
        await storeAgain(again, token);
        stored.pageviews += 1;
      }
    }
  })();
  return {
    stored,
    async stop() {
      isOn = false;
      await storing;
    },
  };
}

async function storeAgain(block: Buffer[], token: string): Promise<void> {
  for (let isStored = false; !isStored; )
    isStored = await warehouse.insertEvents(block, token).then(
      () => true,
      () => delay(50, false),
    );
}

/** A website of which nothing new comes, and what is true about it. */
async function stillSite() {
  const site = createTestSite(warehouse);
  await store(
    Array.from({ length: 300 }, (_, i) =>
      site.toRow({
        t: Date.UTC(2026, 3, 20) + i * 5 * hourMs,
        session: `s${i % 40}`,
        visit: `v${i % 200}`,
        urlPath: `/${i % 9}`,
        eventType: i % 10 === 0 ? 2 : 1,
        eventName: i % 10 === 0 ? 'buy' : '',
      }),
    ),
  );
  return site;
}

const answersOf = async (asked: typeof warehouse, site: ReturnType<typeof createTestSite>) => {
  const question = site.ask({
    range: { startAt: new Date('2026-04-25T12:34:56Z'), endAt: new Date('2026-06-12T01:02:03Z') },
  });
  const answers = await Promise.all([
    asked.getStats(question),
    asked.getMetrics(question, { type: 'path', limit: 5, offset: 0 }),
    asked.getMetrics(question, { type: 'event', limit: 5, offset: 0, search: 'B' }),
    asked.getPageviewSeries(question, [Date.UTC(2026, 3, 1), Date.UTC(2026, 4, 1), Date.UTC(2026, 5, 1)]),
  ]);
  return answers.map(({ value }) => value);
};

test('events flow in and questions are right all along while the tables are replaced; afterwards every rollup is what the events make of it', async () => {
  const still = await stillSite();
  const flowing = [createTestSite(warehouse), createTestSite(warehouse)];
  const truth = await answersOf(warehouse, still);
  const inflow = keepStoring(flowing);
  await expect.poll(() => inflow.stored.pageviews).toBeGreaterThan(20);

  let isAsking = true;
  let asked = 0;
  const later: (typeof warehouse)[] = [];
  const asking = (async () => {
    while (isAsking) {
      const young = createWarehouse(database.url, { readFrom: 'rollups' }); // sees what is there now
      later.push(young);
      for (const one of [warehouse, young, ...later.slice(0, 2)]) {
        expect(await answersOf(one, still)).toEqual(truth);
        for (const site of flowing) {
          const atLeast = inflow.stored.pageviews;
          const { pageviews } = (
            await one.getStats(site.ask({ range: { startAt: new Date(0), endAt: new Date('2027-01-01') } }))
          ).value;
          expect(pageviews).toBeGreaterThanOrEqual(atLeast);
          expect(pageviews).toBeLessThanOrEqual(inflow.stored.begun);
        }
        asked += 1;
      }
    }
  })();
  await warehouse.migrate();
  const askedBefore = asked;
  const isFilled = () => asked > askedBefore + 10;
  await Promise.race([asking, expect.poll(isFilled, { timeout: 60_000 }).toBe(true)]);
  isAsking = false;
  await asking;
  await inflow.stop();

  expect(askedBefore).toBeGreaterThan(3);
  expect(await findWrongRows(database.url)).toEqual([]);
  for (const { websiteId } of flowing)
    expect(
      await scalar(
        `SELECT countIf(event_type = 1), count() - uniqExact(event_id) FROM events WHERE website_id = '${websiteId}'`,
      ),
    ).toBe(`${inflow.stored.pageviews}\t0`);
  await Promise.all(later.map((one) => one.close()));
}, 300_000);

test('cut short after any of their statements, migrations can be repeated, and make what they make in one go', async () => {
  const definitions = async () =>
    scalar(`SELECT name, replaceAll(create_table_query, currentDatabase(), '') FROM system.tables
            WHERE database = currentDatabase() ORDER BY name`);
  for (const name of (await migrationNames()).slice(1)) {
    const statements = splitStatements(await readFile(new URL(name, migrationsDir), 'utf8'));
    for (let cut = 1; cut <= statements.length; cut++)
      for (const statement of statements.slice(0, cut)) await client.command({ query: fillPlaceholders(statement) });
  }
  const cutShort = await definitions();
  await client.command({ query: `DROP DATABASE ${database.database} SYNC` });
  await warehouse.migrate();
  expect(cutShort).toBe(await definitions());
});

test('while big parts are still being rewritten behind the migration, questions are right, and so is the next change of the table', async () => {
  const still = await stillSite();
  const truth = await answersOf(warehouse, still);
  await client.command({ query: 'SYSTEM STOP MERGES events' });
  await warehouse.migrate();
  const waiting = `SELECT count() FROM system.mutations WHERE database = currentDatabase() AND table = 'events' AND NOT is_done`;
  expect(Number(await scalar(waiting))).toBeGreaterThan(0);
  const young = createWarehouse(database.url, { readFrom: 'rollups' });
  for (const one of [warehouse, young]) expect(await answersOf(one, still)).toEqual(truth);
  await store([still.toRow({ t: '2026-07-01T10:00Z', urlPath: '/new' })]);
  await client.command({
    query: 'ALTER TABLE events MODIFY COLUMN tag String',
    clickhouse_settings: { alter_sync: '0' },
  });
  for (const one of [warehouse, young]) expect(await answersOf(one, still)).toEqual(truth);
  await client.command({ query: 'SYSTEM START MERGES events' });
  await expect.poll(() => scalar(waiting), { timeout: 60_000 }).toBe('0');
  for (const one of [warehouse, young]) expect(await answersOf(one, still)).toEqual(truth);
  expect(await findWrongRows(database.url)).toEqual([]);
  await young.close();
}, 120_000);

test('visits from before a migration, whose events differ in an attribute or come to differ after it, have each of their values', async () => {
  const site = createTestSite(warehouse);
  const [mixed, later] = [{ session: 'mixed' }, { session: 'later' }];
  await store([
    site.toRow({ ...mixed, t: '10:00', screen: '4x9', country: 'DE' }),
    site.toRow({ ...mixed, t: '10:01', screen: '9x4', country: 'DE' }),
    site.toRow({ ...mixed, t: '10:01', screen: '7x7', country: 'DE' }),
    site.toRow({ ...later, t: '10:00', screen: '4x9', country: 'DE' }),
  ]);
  await warehouse.migrate();
  await store([site.toRow({ ...later, t: '10:02', screen: '9x4', country: 'FR' })]);
  const answers = async () => {
    const range = { startAt: new Date(at('09:00')), endAt: new Date(at('11:00')) };
    const rank = { limit: 5, offset: 0 };
    const [screens, countries, french] = await Promise.all([
      warehouse.getMetrics(site.ask({ range }), { ...rank, type: 'screen' }),
      warehouse.getExpandedMetrics(site.ask({ range }), { ...rank, type: 'country' }),
      warehouse.getStats(site.ask({ range, filters: [{ name: 'country', op: 'eq', values: ['FR'] }] })),
    ]);
    return [screens.value, countries.value.map(({ name, pageviews }) => [name, pageviews]), french.value.pageviews];
  };
  const expected = [
    [
      { x: '4x9', y: 2 },
      { x: '9x4', y: 2 },
      { x: '7x7', y: 1 },
    ],
    [
      ['DE', 4],
      ['FR', 1],
    ],
    1,
  ];
  expect(await answers()).toEqual(expected);
  expect(await findWrongRows(database.url)).toEqual([]);
  await client.command({ query: 'OPTIMIZE TABLE site_visits FINAL' });
  expect(await answers()).toEqual(expected);
  expect(await findWrongRows(database.url)).toEqual([]);
});

test('a block that was stored before the migration, and is sent again under its token after it, is stored once; the rollups that did not know the token are put right', async () => {
  const site = createTestSite(warehouse);
  const [token, block] = [randomUUID(), toBlock([site.toRow({ t: '10:00' }), site.toRow({ t: '10:01' })])];
  await warehouse.insertEvents(block, token);
  await warehouse.migrate();
  await warehouse.insertEvents(block, token);
  expect(await scalar('SELECT count() FROM events')).toBe('2');
  const rollups = createRollupCheck(database.url);
  const { drifts } = await rollups.repair(new Date(at('12:00')), {});
  expect(drifts.map(({ table }) => table)).toEqual(['site_visits', 'site_texts']);
  expect(await findWrongRows(database.url)).toEqual([]);
  await rollups.close();
});

test('a block that is stored after the migration, and is sent again after ClickHouse has loaded its views anew, as at a start, is in every rollup once', async () => {
  await warehouse.migrate();
  const site = createTestSite(warehouse);
  const [token, block] = [randomUUID(), toBlock([site.toRow({ t: '10:00' }), site.toRow({ t: '10:01' })])];
  await warehouse.insertEvents(block, token);
  for (const table of rollupTables)
    for (const query of [`DETACH TABLE ${table}_mv SYNC`, `ATTACH TABLE ${table}_mv`]) await client.command({ query });
  await warehouse.insertEvents(block, token);
  expect(await scalar('SELECT count() FROM events')).toBe('2');
  expect(await findWrongRows(database.url)).toEqual([]);
});

test('what a version before had removed from events is in no projection after the migration', async () => {
  const [gone, kept] = [createTestSite(warehouse), createTestSite(warehouse)];
  const block = [gone, kept].flatMap((site) =>
    Array.from({ length: 40_000 }, (_, i) => site.toRow({ t: at('10:00') + i, urlPath: `/${i % 40}` })),
  );
  await store(block);
  await client.command({
    query: `DELETE FROM events WHERE website_id = '${gone.websiteId}'`,
    clickhouse_settings: { mutations_sync: '2', lightweight_deletes_sync: '2' },
  });
  await warehouse.migrate();
  const rewriting = 'SELECT count() FROM system.mutations WHERE database = currentDatabase() AND NOT is_done';
  await expect.poll(() => scalar(rewriting), { timeout: 60_000 }).toBe('0');
  const ofPath = ({ websiteId }: typeof gone) =>
    scalar(`SELECT count() FROM events WHERE website_id = '${websiteId}' AND event_type = 1 AND url_path = '/1'`);
  expect([await ofPath(gone), await ofPath(kept)]).toEqual(['0', '1000']);
}, 120_000);
