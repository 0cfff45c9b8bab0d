import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { getActiveVisitors } from './queries/active-visitors.ts';
import { dimensions, type MetricType } from './queries/dimensions.ts';
import { listEvents } from './queries/event-log.ts';
import { getExpandedMetrics } from './queries/expanded-metrics.ts';
import { getMetrics } from './queries/metrics.ts';
import { getPageviewSeries } from './queries/pageview-series.ts';
import { getStats } from './queries/stats.ts';
import { createQuestionChannel } from './question-channel.ts';
import { createChooseReadFrom, type ReadFrom } from './read-from.ts';
import { type Chance, createChance, randomBuckets, randomData, randomQuestion } from './reference/random-data.ts';
import { createRunQuery, type RunQuery, readSettings } from './run-query.ts';
import { createTestSite, type TestEvent, toBlock, uuidV7 } from './test-site.ts';
import { createTestWarehouse } from './test-warehouse.ts';

// Each way to an answer is forced in turn: what reads rollups, with the range's ends from events, must answer as what
// reads events alone.

const { warehouse, client, database } = await createTestWarehouse();
const address = parseClickHouseUrl(database.url);
const channel = createQuestionChannel(address, readSettings);
const withoutProjections = createQuestionChannel(address, { ...readSettings, optimize_use_projections: 0 });
afterAll(() => Promise.all([channel.close(), withoutProjections.close()]));
const [run, scanning] = [createRunQuery(channel), createRunQuery(withoutProjections)];

const seed = Number(process.env.REFERENCE_SEED ?? Date.now() % 1_000_000);
const types = Object.keys(dimensions) as MetricType[];
const [SITES, QUESTIONS_PER_SITE] = [20, 3];

test(`rollups, projection and events give the same answers, merged or not (seed ${seed})`, async () => {
  const chance = createChance(seed);
  const sites = Array.from({ length: SITES }, () => randomData(chance, createTestSite(warehouse)));
  const blocks: (typeof sites)[number]['rows'][] = [[], [], [], []];
  for (const row of sites.flatMap(({ rows }) => rows)) chance.pick(blocks).push(row);
  for (const block of blocks) await warehouse.insertEvents(toBlock(block), randomUUID());
  for (const merged of [false, true]) {
    if (merged)
      for (const table of ['site_visits', 'site_15m', 'site_texts', 'events'])
        await client.command({ query: `OPTIMIZE TABLE ${table} FINAL` });
    for (const data of sites)
      for (let n = 0; n < QUESTIONS_PER_SITE; n++) {
        const asked = randomAsked(chance, data);
        const [scanned, expected, found] = await Promise.all([
          answersOf(scanning, asked, 'events'),
          answersOf(run, asked, 'events'),
          answersOf(run, asked, 'rollups'),
        ]);
        expect(found, JSON.stringify(asked)).toEqual(expected);
        expect(scanned, JSON.stringify(asked)).toEqual(expected);
      }
  }
}, 600_000);

const manyPaths: TestEvent[] = Array.from({ length: 30_000 }, (_, i) => ({
  t: Date.UTC(2026, 5, 1) + i * 60_000,
  session: `u${i % 500}`,
  visit: `v${Math.floor(i / 3)}`,
  urlPath: `/${i % 300}`,
}));

test('a path is looked up in the projection, and gives what a scan gives', async () => {
  const site = createTestSite(warehouse);
  await site.insert(manyPaths);
  const question = site.ask({ filters: [{ name: 'path', op: 'eq', values: ['/7'] }] });
  const [all, projection] = [counting(scanning), counting(run)];
  for (const from of ['events', 'rollups'] as const) {
    const scanned = await getStats(all.run, question, from);
    expect((await getStats(projection.run, question, from)).value).toEqual(scanned.value);
    expect(scanned.value.pageviews).toBe(100);
  }
  expect(projection.counts.rowsRead).toBeLessThan(all.counts.rowsRead);
}, 120_000);

test('a text that is in paths alone is searched in paths alone, in the projection', async () => {
  const site = createTestSite(warehouse);
  await site.insert(manyPaths);
  const [all, projection] = [counting(scanning), counting(run)];
  const [page, search] = [{ offset: 0, limit: 20 }, { search: '/299' }];
  const found = await listEvents(projection.run, site.ask(), page, search, 'rollups');
  expect(found.value).toEqual((await listEvents(all.run, site.ask(), page, search, 'rollups')).value);
  expect([found.value.count, found.value.rows.length]).toEqual([100, 20]);
  expect(projection.counts.rowsRead).toBeLessThan(all.counts.rowsRead);
}, 120_000);

test('visits whose events differ in an attribute cost only questions about that attribute, and none where they differ in the screen', async () => {
  const site = createTestSite(warehouse);
  await site.insert(
    manyPaths.map((event, i) => ({
      ...event,
      country: 'DE',
      language: i % 1_000 === 0 ? 'fr' : 'de',
      screen: i % 1_000 === 0 ? '9x4' : '4x9',
    })),
  );
  const question = site.ask();
  const rowsReadFor = async (type: MetricType) => {
    const way = counting(run);
    const { value } = await getMetrics(way.run, question, { type, limit: 10, offset: 0 }, 'rollups');
    expect(value).toEqual((await getMetrics(run, question, { type, limit: 10, offset: 0 }, 'events')).value);
    return way.counts.rowsRead;
  };
  expect(await rowsReadFor('language')).toBeGreaterThan(manyPaths.length);
  expect(await rowsReadFor('country')).toBeLessThan(manyPaths.length);
  expect(await rowsReadFor('screen')).toBeLessThan(manyPaths.length);
}, 120_000);

/** What was asked by a way, and how many rows that read. */
function counting(asked: RunQuery) {
  const counts = { queries: 0, rowsRead: 0 };
  const counted: RunQuery = async (...args) => {
    counts.queries++;
    const answer = await asked(...args);
    counts.rowsRead += answer.timing.rowsRead;
    return answer;
  };
  return { run: counted, counts };
}

test('a deep page of the log holds the same events as when the log is read from its start', async () => {
  const site = createTestSite(warehouse);
  const events: TestEvent[] = Array.from({ length: 3_000 }, (_, i) => ({
    t: Date.UTC(2026, 5, 2) + i * 7_001,
    eventType: i % 5 === 0 ? 2 : 1,
    eventName: i % 5 === 0 ? 'buy' : '',
  }));
  await site.insert(events);
  const range = { startAt: new Date(Date.UTC(2026, 5, 2) + 60_000), endAt: new Date(Date.UTC(2026, 5, 2, 5, 40)) };
  for (const eventType of [undefined, 1, 2] as const)
    for (const offset of [999, 1_000, 1_001, 1_500, 2_399, 2_800, 10_000]) {
      const question = site.ask({ range, eventType });
      const page = { offset, limit: 50 };
      const found = await listEvents(run, question, page, {}, 'rollups');
      expect(found.value, `${eventType} ${offset}`).toEqual(
        (await listEvents(run, question, page, {}, 'events')).value,
      );
    }
  // A quarter that counts too much must not cut a page short; pages behind it are shifted by what it counts too much.
  await client.command({
    query: `INSERT INTO site_15m SELECT '${site.websiteId}', toDateTime('2026-06-02 03:15:00', 'UTC'), 10000, 0`,
  });
  const page = { offset: 1_000, limit: 300 };
  const question = site.ask({ range });
  const [found, expected] = await Promise.all(
    (['rollups', 'events'] as const).map((from) => listEvents(run, question, page, {}, from)),
  );
  expect(found?.value.rows).toHaveLength(300);
  expect(found?.value.rows).toEqual(expected?.value.rows);
}, 120_000);

test('while a reset removes events, and rollups are made anew, a search finds those that were collected since', async () => {
  const site = createTestSite(warehouse);
  await site.insert([{ t: '10:05', urlPath: '/new' }]);
  const page = { offset: 0, limit: 1 };
  const question = site.ask({ collectedSince: new Date(0) });
  const find = async () => (await listEvents(run, question, page, { search: 'new' }, 'rollups')).value;
  const found = await find();
  expect(found.count).toBe(1);
  await client.command({
    query: `DELETE FROM site_texts WHERE website_id = '${site.websiteId}'`,
    clickhouse_settings: { lightweight_deletes_sync: '2' },
  });
  expect(await find()).toEqual(found);
});

test('an event that no quarter counts yet is on its page of the log', async () => {
  const site = createTestSite(warehouse);
  const events: TestEvent[] = ['10:05', '10:50'].map((t) => ({ t, eventType: 2, eventName: 'buy' }));
  await site.insert(events);
  await client.command({
    query: `INSERT INTO site_15m SELECT '${site.websiteId}', toDateTime('2026-06-10 10:45:00', 'UTC'), 0, -1`,
  });
  const question = site.ask({ eventType: 2 });
  for (const page of [
    { offset: 0, limit: 1 },
    { offset: 1, limit: 1 },
  ]) {
    const { rows } = (await listEvents(run, question, page, {}, 'rollups')).value;
    expect(rows).toEqual((await listEvents(run, question, page, {}, 'events')).value.rows);
    expect(rows).toHaveLength(1);
  }
});

test('events of a range with few of them are read themselves, and rollups where there are many or nobody can tell', async () => {
  const [site, empty] = [createTestSite(warehouse), createTestSite(warehouse)];
  await client.command({
    query: `INSERT INTO events (website_id, created_at, event_id, session_id, visit_id, event_type)
      SELECT '${site.websiteId}', toDateTime64('2026-06-01 00:00:00', 3, 'UTC') + number * 12, generateUUIDv7(), toUUID('${randomUUID()}'), toUUID('${uuidV7(Date.UTC(2026, 5, 1), 1)}'), 1
      FROM numbers(210000)`,
  });
  const counted = counting(run);
  const choose = createChooseReadFrom(client, counted.run);
  const ask = (startAt: string, endAt: string) =>
    choose(site.ask({ range: { startAt: new Date(startAt), endAt: new Date(endAt) } }));
  // Who asks first may go away; whoever asks meanwhile, or later, has the same counts.
  const month = { startAt: new Date('2026-06-01T00:00Z'), endAt: new Date('2026-07-01T00:00Z') };
  const gone = AbortSignal.abort();
  const first = await Promise.all([
    choose(site.ask({ range: month, signal: gone })),
    choose(site.ask({ range: month })),
  ]);
  expect(first).toEqual(['rollups', 'rollups']);
  expect(await ask('2020-01-01T00:00Z', '2030-01-01T00:00Z')).toBe('rollups');
  expect(await ask('2026-06-05T00:00Z', '2026-06-15T00:00Z')).toBe('events');
  expect(await ask('2026-07-01T00:00Z', '2026-08-01T00:00Z')).toBe('events');
  expect(counted.counts.queries).toBe(1);
  expect(await choose(empty.ask())).toBe('events');

  const away = createQuestionChannel(parseClickHouseUrl('http://127.0.0.1:1/none'), readSettings);
  expect(await createChooseReadFrom(client, createRunQuery(away))(site.ask())).toBe('rollups');
  await away.close();
}, 120_000);

type Asked = ReturnType<typeof randomAsked>;

function randomAsked(chance: Chance, data: ReturnType<typeof randomData>) {
  const question = randomQuestion(chance, data);
  return {
    question,
    buckets: randomBuckets(chance, question),
    ranking: {
      type: chance.pick(types),
      limit: chance.pick([1000, 2]),
      offset: chance.pick([0, 1]),
      search: chance.pick(['', '', 'a', 'é']),
    },
    search: chance.pick(['', '', 'a', 'ŻÓ']),
  };
}

async function answersOf(ask: RunQuery, { question, buckets, ranking, search }: Asked, from: ReadFrom) {
  const answers = await Promise.all([
    getStats(ask, question, from),
    getPageviewSeries(ask, question, buckets, from),
    getMetrics(ask, question, ranking, from),
    getExpandedMetrics(ask, question, ranking, from),
    listEvents(ask, question, { offset: 0, limit: 1000 }, { search }, from),
    getActiveVisitors(ask, question, question.range),
  ]);
  return answers.map(({ value }) => value);
}
