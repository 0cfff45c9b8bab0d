import { randomUUID } from 'node:crypto';
import { runClickHouse } from '@meridian/embedded/clickhouse-store';
import { startClickHouseCluster, type TestCluster } from '@meridian/embedded/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rollupsMigration } from './migrate.ts';
import { dimensions } from './queries/dimensions.ts';
import {
  referenceActive,
  referenceLog,
  referenceMetrics,
  referenceSeries,
  referenceStats,
} from './reference/answers.ts';
import { createChance, type RandomData, randomBuckets, randomData, randomQuestion } from './reference/random-data.ts';
import { createRollupCheck } from './rollups/check.ts';
import { rollupTables } from './rollups/repair.ts';
import { createTestSite, toBlock } from './test-site.ts';
import { createWarehouse, type Warehouse } from './warehouse.ts';

// Two shards. What Keeper does (the queue of statements ON CLUSTER, replicas) the embedded engine cannot: see
// test-cluster.ts.

const database = 'meridian';
const tables = ['events', ...rollupTables, 'session_properties'];
const seed = Number(process.env.REFERENCE_SEED ?? Date.now() % 1_000_000);
const metricTypes = Object.keys(dimensions) as (keyof typeof dimensions)[];

let nodes: TestCluster;
/** The migrator's, the worker's and the query's: each as its own user. */
let warehouse: Warehouse;
let writer: Warehouse;
/** Answers from rollups, as of big websites. */
let reader: Warehouse;
/** Looks how many events there are. */
let choosing: Warehouse;

beforeAll(async () => {
  nodes = await startClickHouseCluster(2);
  warehouse = createWarehouse(`${nodes.urlFor('meridian_migrator')}/${database}`);
  await warehouse.migrate(nodes.cluster);
  writer = createWarehouse(`${nodes.urlFor('meridian_writer')}/${database}`);
  reader = createWarehouse(`${nodes.urlFor('meridian_reader')}/${database}`, { readFrom: 'rollups' });
  choosing = createWarehouse(`${nodes.urlFor('meridian_reader')}/${database}`);
}, 300_000);
afterAll(async () => {
  await Promise.all([warehouse, writer, reader, choosing].map((one) => one.close()));
  await nodes.stop();
});

/** The answer of each shard by itself. */
const onShards = (query: string) =>
  Promise.all(nodes.nodeUrls.map(async (url) => (await runClickHouse(url, query)).trim()));

/** Rows that each shard holds of the websites, in each table. */
async function rowsOnShards(...sites: { websiteId: string }[]): Promise<Record<string, number[]>> {
  const ids = sites.map(({ websiteId }) => `'${websiteId}'`).join(', ');
  const found = tables.map(async (table) => {
    const final = table === 'events' ? '' : 'FINAL';
    const counts = await onShards(
      `SELECT count() FROM ${database}.${table}_local ${final} WHERE website_id IN (${ids})`,
    );
    return [table, counts.map(Number)] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

/** Websites of which each lies on another shard. */
async function siteOnEachShard() {
  const drawn = Array.from({ length: 20 }, () => createTestSite(writer));
  const shards = await runClickHouse(
    nodes.nodeUrls[0] ?? '',
    `SELECT arrayMap(id -> cityHash64(toUUID(id)) % 2, [${drawn.map(({ websiteId }) => `'${websiteId}'`).join(', ')}])`,
  );
  const shardOf = JSON.parse(shards) as number[];
  const [first, second] = [drawn[shardOf.indexOf(0)], drawn[shardOf.indexOf(1)]];
  if (!first || !second) throw new Error('All websites are on one shard');
  return [first, second] as const;
}

const expectNoDrift = async () => {
  const rollups = createRollupCheck(`${nodes.urlFor('meridian_migrator')}/${database}`);
  expect(await rollups.compare(new Date(), {})).toEqual({ drifts: [], undecided: 0 });
  await rollups.close();
};

test('migrations may run again on their cluster, not on another one and not without', async () => {
  await warehouse.migrate(nodes.cluster);
  await expect(warehouse.migrate('other')).rejects.toThrow(/other/);
  await expect(warehouse.migrate()).rejects.toThrow(/test_cluster.*not set/);
  expect((await warehouse.readState()).missingMigrations).toEqual([]);
});

test(`blocks that are sent twice are stored once, each website on its shard with its rollups; random questions have the reference's answers (seed ${seed})`, async () => {
  const chance = createChance(seed);
  const sites = Array.from({ length: 12 }, () => randomData(chance, createTestSite(writer)));
  const blocks = [sites.slice(0, 5), sites.slice(5)].map((some) => toBlock(some.flatMap(({ rows }) => rows)));
  const beforeMs = Date.now();
  for (const block of blocks) {
    const token = randomUUID();
    await Promise.all([writer.insertEvents(block, token), writer.insertEvents(block, token)]);
    await writer.insertEvents(block, token);
  }
  expect(await writer.remembersTokensSince(beforeMs, { partsMax: 0 })).toBe('no'); // it sees the shards' parts
  for (const { websiteId, rows } of sites) {
    const { events = [], ...rollups } = await rowsOnShards({ websiteId });
    expect([...events].sort((a, b) => a - b)).toEqual([0, rows.length]);
    const empty = events.indexOf(0);
    for (const counts of Object.values(rollups)) expect(counts[empty]).toBe(0);
  }
  await expectNoDrift();
  for (const data of sites) for (let n = 0; n < 6; n++) await compare(data, createChance(chance.whole(1_000_000)));
}, 600_000);

async function compare(data: RandomData, chance: ReturnType<typeof createChance>): Promise<void> {
  const { rows } = data;
  const question = randomQuestion(chance, data);
  const buckets = randomBuckets(chance, question);
  const ranking = { type: chance.pick(metricTypes), limit: 1_000, offset: 0, search: chance.pick(['', 'e']) };
  const search = chance.pick(['', 'e']);
  const asked = chance.pick([reader, choosing]);
  const page = { offset: chance.pick([0, 0, 1, 7]), limit: chance.pick([1, 1_000]) };
  const [stats, series, metrics, expanded, active, log] = await Promise.all([
    asked.getStats(question),
    asked.getPageviewSeries(question, buckets),
    asked.getMetrics(question, ranking),
    asked.getExpandedMetrics(question, ranking),
    asked.getActiveVisitors(question, question.range),
    asked.listEvents(question, page, { search }),
  ]);
  const all = referenceLog(rows, question, search);
  expect(
    {
      stats: stats.value,
      series: series.value,
      metrics: metrics.value,
      expanded: expanded.value,
      active: active.value,
      log: log.value.rows,
      count: log.value.count,
    },
    JSON.stringify({ seed, question, ranking, search, page }),
  ).toEqual({
    stats: referenceStats(rows, question),
    series: referenceSeries(rows, question, buckets),
    ...referenceMetrics(rows, question, ranking),
    active: referenceActive(rows, question, question.range),
    log: all.slice(page.offset, page.offset + page.limit),
    count: all.length,
  });
}

test('an insert of which one shard took its part, the other not, fails; sent again under its token it is stored once, with its rollups', async () => {
  const [a, b] = await siteOnEachShard();
  const block = toBlock(
    [a, b].flatMap((site) => [site.toRow({ t: '10:00' }), site.toRow({ t: '10:05', urlPath: '/b' })]),
  );
  const token = randomUUID();
  const throughFirst = createWarehouse(`${nodes.nodeUrls[0]}`);
  await nodes.setReachable(1, false);
  await expect(throughFirst.insertEvents(block, token)).rejects.toThrow();
  const half = await rowsOnShards(a, b);
  expect(half.events?.[1]).toBe(0);
  // A question needs the shard of its website and no other.
  expect((await throughFirst.getStats(a.ask())).value.visits).toBe(half.site_visits?.[0]);
  await expect(throughFirst.getStats(b.ask())).rejects.toThrow();
  await nodes.setReachable(1, true);
  await writer.insertEvents(block, token);
  await writer.insertEvents(block, token);
  await throughFirst.close();
  const whole = { events: [2, 2], site_visits: [1, 1], stray_visits: [0, 0], site_15m: [1, 1], site_texts: [2, 2] };
  expect(await rowsOnShards(a, b)).toMatchObject(whole);
  await expectNoDrift();
});

test('recovery finds what is stored on any shard', async () => {
  const sites = await siteOnEachShard();
  const rows = sites.flatMap((site, i) => [site.toRow({ t: `11:0${i}` }), site.toRow({ t: `11:1${i}` })]);
  await writer.insertEvents(toBlock(rows.filter((_, i) => i % 2 === 0)), randomUUID());
  await writer.untilInsertsEnd();
  const stored = await writer.findStoredEventIds(rows);
  expect([...stored].sort()).toEqual(
    rows
      .filter((_, i) => i % 2 === 0)
      .map(({ eventId }) => eventId)
      .sort(),
  );
});

test('a purge, a reset and a repair reach the shard of their website, and nothing of another', async () => {
  const sites = await siteOnEachShard();
  for (const site of sites) {
    await site.insert([{ t: '10:00' }, { t: '10:10', collectedAt: Date.UTC(2026, 6, 1), urlPath: '/later' }]);
    const property = { websiteId: site.websiteId, sessionId: randomUUID(), eventId: randomUUID(), createdAtMs: 1 };
    await writer.insertSessionProperties([{ ...property, key: 'plan', value: 'pro' }], randomUUID());
  }
  const [reset, purged] = sites;
  await writer.purgeCollectedBefore(reset.websiteId, new Date(Date.UTC(2026, 5, 20)));
  await writer.purgeWebsite(purged.websiteId);
  const none = Object.fromEntries(tables.map((table) => [table, [0, 0]]));
  expect(await rowsOnShards(purged)).toEqual(none);
  expect((await reader.getStats(reset.ask())).value).toMatchObject({ pageviews: 1, visits: 1 });
  expect((await reader.getStats(purged.ask())).value).toMatchObject({ pageviews: 0, visits: 0 });

  for (const table of ['site_visits', 'site_15m'])
    await onShards(`DELETE FROM ${database}.${table}_local WHERE website_id = '${reset.websiteId}'`);
  const rollups = createRollupCheck(`${nodes.urlFor('meridian_migrator')}/${database}`);
  const { drifts } = await rollups.repair(new Date(), { websiteIds: [reset.websiteId] });
  await rollups.close();
  expect(drifts.map(({ table, rows }) => [table, rows])).toEqual([
    ['site_visits', 1],
    ['site_15m', 1],
  ]);
  expect((await reader.getStats(reset.ask())).value).toMatchObject({ pageviews: 1, visits: 1 });
  await expectNoDrift();
});

test('old visits get their greatest attributes and all their screens on every shard', async () => {
  const sites = await siteOnEachShard();
  for (const site of sites)
    await site.insert([
      { t: '10:00', screen: '4x9' },
      { t: '10:01', screen: '9x4' },
      { t: '10:02', screen: '7x7' },
    ]);
  const asBefore = `UPDATE screen_max = screen, screens = ([toString(screen)], [toUInt8(1)]) WHERE 1 SETTINGS mutations_sync = 2`;
  await onShards(`ALTER TABLE ${database}.site_visits_local ${asBefore}`);
  await onShards(`DELETE FROM ${database}.schema_migrations_local WHERE name = '${rollupsMigration}'`);
  await warehouse.migrate(nodes.cluster);
  for (const site of sites) {
    const ranked = await reader.getMetrics(site.ask(), { type: 'screen', limit: 5, offset: 0 });
    expect(ranked.value).toEqual([
      { x: '4x9', y: 1 },
      { x: '7x7', y: 1 },
      { x: '9x4', y: 1 },
    ]);
  }
  await expectNoDrift();
});

test('retention is set on every shard, and taken away again', async () => {
  const tablesKept = (days: number) =>
    onShards(
      `SELECT countIf(engine_full LIKE '% TTL %toIntervalDay(${days})%') FROM system.tables WHERE database = '${database}' AND endsWith(name, '_local')`,
    );
  await warehouse.setRetention(9_000);
  expect([await tablesKept(9_000), await tablesKept(9_008)]).toEqual([
    ['2', '2'],
    ['4', '4'],
  ]);
  expect(await warehouse.planRetention(9_000)).toEqual([]);
  await expectNoDrift();
  await warehouse.setRetention(undefined);
  expect([await tablesKept(9_000), await tablesKept(9_008)]).toEqual([
    ['0', '0'],
    ['0', '0'],
  ]);
});
