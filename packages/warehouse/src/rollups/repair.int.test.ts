import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { at, createTestSite, type TestEvent, toBlock, uuidV7 } from '../test-site.ts';
import { createTestWarehouse } from '../test-warehouse.ts';
import { createRollupCheck } from './check.ts';
import { findWrongRows } from './test-rollups.ts';

const { warehouse, client, database } = await createTestWarehouse();
const rollups = createRollupCheck(database.url);
const now = new Date('2026-06-10T12:00:00Z');
const [minuteMs, hourMs, _dayMs] = [60_000, 3_600_000, 86_400_000];

afterEach(async () => {
  expect(await findWrongRows(database.url)).toEqual([]);
});

const command = (query: string) =>
  client.command({ query, clickhouse_settings: { lightweight_deletes_sync: '2', insert_deduplicate: 0 } });

async function scalar(query: string): Promise<string> {
  return (await (await client.query({ query, format: 'TabSeparated' })).text()).trim();
}

/** A month of visits, some of them long, some late, one stray. */
const visits: TestEvent[] = [
  ...Array.from({ length: 60 }, (_, i) => {
    const t = Date.UTC(2026, 4, 15) + i * 11 * hourMs;
    const who = { session: `s${i}`, visit: `v${i}` };
    return [
      { ...who, t, urlPath: `/${i % 7}`, pageTitle: 'Title', referrerDomain: 'a.example' },
      { ...who, t: t - 5 * minuteMs, urlPath: '/late', browser: i % 2 ? 'Chrome' : 'Firefox' },
      { ...who, t: t + 40 * minuteMs, eventType: 2, eventName: 'buy' },
      { ...who, t: t + 41 * minuteMs, eventType: 5, lcp: 1 },
    ] as TestEvent[];
  }).flat(),
  { t: '2026-05-30T23:00Z', visit: 'stray' },
  { t: '2026-06-02T10:00Z', visit: 'stray', urlPath: '/end' },
];

async function newSite() {
  const site = createTestSite(warehouse);
  await site.insert(visits);
  return site;
}

/** What is done to one website's rollups, in `{table}` terms of SQL, and what tells that it was. */
const damages: Record<string, { statements: (websiteId: string) => string[]; found: Record<string, number> }> = {
  'visits are missing': {
    statements: (id) => [
      `DELETE FROM site_visits WHERE website_id = '${id}' AND start_hour BETWEEN '2026-05-20 00:00:00' AND '2026-05-25 00:00:00'`,
    ],
    found: { site_visits: 11 },
  },
  'a day is counted twice': {
    statements: (id) => [
      `INSERT INTO site_visits SELECT * FROM site_visits FINAL WHERE website_id = '${id}' AND toDate(start_hour) = '2026-06-02'`,
      `INSERT INTO site_15m SELECT * FROM site_15m FINAL WHERE website_id = '${id}' AND toDate(bucket) = '2026-06-02'`,
    ],
    found: { site_visits: 2, site_15m: 7 },
  },
  'a visit, a quarter and a text that never were': {
    statements: (id) => [
      `INSERT INTO site_visits (website_id, start_hour, visit_id, pageviews) VALUES ('${id}', '2019-01-01 00:00:00', '${uuidV7(Date.UTC(2019, 0, 1), 1)}', 3)`,
      `INSERT INTO site_15m VALUES ('${id}', '2031-01-01 00:15:00', 1, 1)`,
      `INSERT INTO site_texts VALUES ('${id}', '2026-06-01', 'title', 'never', 4)`,
      `INSERT INTO stray_visits VALUES ('${id}', '2026-05-20 00:00:00', '${uuidV7(Date.UTC(2026, 4, 20), 1)}')`,
    ],
    found: { stray_visits: 1, site_visits: 1, site_15m: 1, site_texts: 1 },
  },
  'visits that began earlier': {
    statements: (id) => [
      `INSERT INTO site_visits (website_id, start_hour, visit_id, visitor_key_min, first_at, last_at, entry, source, browser, attributes_min)
       SELECT website_id, start_hour, visit_id, visitor_key_min, first_at - 1, last_at, entry, source, browser, attributes_min
       FROM site_visits FINAL WHERE website_id = '${id}' AND start_hour >= '2026-06-01 00:00:00'`,
    ],
    found: { site_visits: 22 },
  },
  'quarters in which nothing happened': {
    statements: (id) => [
      `CREATE TABLE old AS site_visits`,
      `INSERT INTO old SELECT * FROM site_visits FINAL WHERE website_id = '${id}' AND start_hour >= '2026-06-01 00:00:00'`,
      `DELETE FROM site_visits WHERE website_id = '${id}' AND start_hour >= '2026-06-01 00:00:00'`,
      `INSERT INTO site_visits SELECT * REPLACE (bitOr(quarters, 1024) AS quarters) FROM old`,
      'DROP TABLE old SYNC',
    ],
    found: { site_visits: 22 },
  },
  'no visit is a stray one any more': {
    statements: (id) => [`DELETE FROM stray_visits WHERE website_id = '${id}'`],
    found: { stray_visits: 1 },
  },
  'a stray visit lacks its end': {
    statements: (id) => [
      `CREATE TABLE old AS site_visits`,
      `INSERT INTO old SELECT * FROM site_visits FINAL WHERE website_id = '${id}' AND bitTest(quarters, 63)`,
      `DELETE FROM site_visits WHERE website_id = '${id}' AND bitTest(quarters, 63)`,
      `INSERT INTO site_visits SELECT * REPLACE (1 AS pageviews, first_at AS last_at) FROM old`,
      'DROP TABLE old SYNC',
    ],
    found: { site_visits: 1 },
  },
  'as many events of other texts, in other quarters': {
    statements: (id) => [
      `INSERT INTO site_texts VALUES ('${id}', '2026-06-01', 'path', '/0', -1), ('${id}', '2026-06-01', 'path', '/1', 1)`,
      `INSERT INTO site_15m VALUES ('${id}', '2026-06-02 10:00:00', -1, 0), ('${id}', '2026-06-02 10:15:00', 1, 0)`,
    ],
    found: { site_texts: 2, site_15m: 2 },
  },
  'everything is gone': {
    statements: (id) =>
      ['site_visits', 'stray_visits', 'site_15m', 'site_texts'].map(
        (t) => `DELETE FROM ${t} WHERE website_id = '${id}'`,
      ),
    found: { site_visits: 61, stray_visits: 1, site_15m: 182, site_texts: 23 },
  },
};

const toFound = (drifts: readonly { table: string; rows: number }[]) =>
  Object.fromEntries(drifts.map(({ table, rows }) => [table, rows]));

test.each(Object.keys(damages))('found and put right: %s', async (name) => {
  const { statements, found } = damages[name] as (typeof damages)[string];
  const [site, neighbour] = [await newSite(), await newSite()];
  const scope = { websiteIds: [site.websiteId] };
  expect(await rollups.compare(now, scope)).toEqual({ drifts: [], undecided: 0 });
  const before = (await warehouse.getStats(site.ask())).value;
  for (const statement of statements(site.websiteId)) await command(statement);

  expect(toFound((await warehouse.compareRollups(now, {})).drifts)).toEqual(found);
  const repaired = await rollups.repair(now, scope);
  expect(toFound(repaired.drifts)).toEqual(found);
  expect(repaired.undecided).toBe(0);
  expect(new Set(repaired.drifts.map((drift) => drift.websiteId))).toEqual(new Set([site.websiteId]));
  expect(await rollups.compare(now, {})).toEqual({ drifts: [], undecided: 0 });
  expect((await warehouse.getStats(site.ask())).value).toEqual(before);
  expect(await findWrongRows(database.url, neighbour.websiteId)).toEqual([]);
});

test('a range is respected: in it rows are put right, outside of it none is touched', async () => {
  const site = await newSite();
  const scope = {
    websiteIds: [site.websiteId],
    from: new Date('2026-06-02T00:00Z'),
    to: new Date('2026-06-03T00:00Z'),
  };
  for (const statement of damages['everything is gone']?.statements(site.websiteId) ?? []) await command(statement);
  const { drifts } = await rollups.repair(now, scope);
  expect(toFound(drifts)).toEqual({ site_visits: 2, stray_visits: 1, site_15m: 7, site_texts: 12 });
  expect(await rollups.compare(now, scope)).toEqual({ drifts: [], undecided: 0 });
  const stored = async (table: string, column: string) =>
    scalar(`SELECT min(${column}), max(${column}) FROM ${table} WHERE website_id = '${site.websiteId}'`);
  expect(await stored('site_visits', 'toDate(start_hour)')).toBe('2026-06-02\t2026-06-02');
  expect(await stored('site_15m', 'toDate(bucket)')).toBe('2026-06-02\t2026-06-02');
  expect(await stored('site_texts', 'month')).toBe('2026-06-01\t2026-06-01');
  await rollups.repair(now, { websiteIds: [site.websiteId] });
});

test('where nothing differs nothing is written', async () => {
  const site = await newSite();
  const written = () =>
    scalar(`SELECT toString(arraySort(groupArray((table, name)))) FROM system.parts
    WHERE database = currentDatabase() AND table != 'events' AND rows > 0 AND level = 0`);
  const mutations = () => scalar('SELECT count() FROM system.mutations WHERE database = currentDatabase()');
  const before = [await written(), await mutations()];
  expect(await rollups.repair(now, { websiteIds: [site.websiteId] })).toEqual({ drifts: [], undecided: 0 });
  const insertedBefore = new Set(before[0]?.match(/\(.*?\)/g));
  const inserted = (await written()).match(/\(.*?\)/g) ?? [];
  expect([inserted.filter((part) => !insertedBefore.has(part)), await mutations()]).toEqual([[], before[1]]);
});

test('more wrong visits of one hour than are put right at once', async () => {
  const site = createTestSite(warehouse);
  const count = 45_000;
  await command(`INSERT INTO events (website_id, created_at, event_id, session_id, visit_id, event_type, url_path)
    SELECT '${site.websiteId}', fromUnixTimestamp64Milli(${at('10:00')} + number, 'UTC'), generateUUIDv7(number), generateUUIDv4(number),
      toUUID(concat('${uuidV7(at('10:00'), 1).slice(0, 24)}', leftPad(lower(hex(number)), 12, '0'))), 1, '/' FROM numbers(${count})`);
  await command(`INSERT INTO site_visits SELECT * FROM site_visits FINAL WHERE website_id = '${site.websiteId}'`);
  const { drifts, undecided } = await rollups.repair(now, { websiteIds: [site.websiteId] });
  expect([toFound(drifts), undecided]).toEqual([{ site_visits: count }, 0]);
}, 300_000);

/** Inserts block after block, some of them overlapping, with rows that change the same visits, quarters and texts. */
function insertAllTheTime(site: ReturnType<typeof createTestSite>) {
  let isOn = true;
  let count = 0;
  const lane = async (name: string) => {
    while (isOn) {
      count += 1;
      const row = { t: at('10:00') + count, session: name, urlPath: '/busy' };
      const rows = [site.toRow({ ...row, visit: `${count}` }), site.toRow({ ...row, visit: name })];
      const token = randomUUID();
      const startedAt = performance.now();
      await warehouse.insertEvents(toBlock(rows), token);
      const pauseMs = performance.now() - startedAt; // so that it stores half of the time, however busy the machine is
      if (count % 5 === 0) await warehouse.insertEvents(toBlock(rows), token); // as a worker whose answer was lost
      await delay(pauseMs);
    }
  };
  const running = Promise.all([lane('a'), lane('b')]);
  const stop = async () => {
    isOn = false;
    await running;
  };
  onTestFinished(stop); // one that failed leaves the next in peace
  return stop;
}

const others = 'as many events of other texts, in other quarters';
const damage = async (name: string, websiteId: string) => {
  for (const statement of damages[name]?.statements(websiteId) ?? []) await command(statement);
};

test('while events flow in nothing is taken for drift; what is wrong is found and put right, and no question sees less meanwhile', async () => {
  const [still, busy] = [await newSite(), await newSite()];
  const scope = { websiteIds: [still.websiteId, busy.websiteId] };
  const stop = insertAllTheTime(busy);
  for (let i = 0; i < 3; i++) expect((await warehouse.compareRollups(now, scope)).drifts).toEqual([]);
  await damage(others, still.websiteId);
  await damage(others, busy.websiteId);
  await command(`INSERT INTO site_15m VALUES ('${busy.websiteId}', '2026-06-10 10:00:00', 1000, 0)`);
  const { drifts } = await warehouse.compareRollups(now, scope);
  const of = (site: typeof busy) => toFound(drifts.filter(({ websiteId }) => websiteId === site.websiteId));
  expect(of(still)).toEqual({ site_texts: 2, site_15m: 2 });
  expect(of(busy).site_15m).toBeGreaterThanOrEqual(2);

  const expected = (await warehouse.getStats(still.ask())).value;
  let isRepaired = false;
  const repairing = rollups.repair(now, scope).finally(() => {
    isRepaired = true;
  });
  while (!isRepaired) expect((await warehouse.getStats(still.ask())).value).toEqual(expected);
  const { undecided } = await repairing;
  await stop();
  if (undecided > 0) await rollups.repair(now, scope);
}, 400_000);

test('two who put the same website right at once, while events flow in, leave it right', async () => {
  const site = await newSite();
  const stop = insertAllTheTime(site);
  for (const name of ['a day is counted twice', 'visits are missing', others]) await damage(name, site.websiteId);
  const other = createRollupCheck(database.url);
  const scope = { websiteIds: [site.websiteId] };
  const outcomes = await Promise.all([rollups.repair(now, scope), other.repair(now, scope)]);
  await stop();
  await other.close();
  if (outcomes.some(({ undecided }) => undecided > 0)) await rollups.repair(now, scope);
}, 400_000);
