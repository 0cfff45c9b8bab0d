import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { dimensions } from '../queries/dimensions.ts';
import type { EventLog, LogPage } from '../queries/event-log.ts';
import type { Question } from '../question.ts';
import { rollupTables } from '../rollups.ts';
import { createTestSite, toBlock } from '../test-site.ts';
import { createTestWarehouse } from '../test-warehouse.ts';
import { referenceActive, referenceLog, referenceMetrics, referenceSeries, referenceStats } from './answers.ts';
import {
  type Chance,
  createChance,
  type RandomData,
  randomBuckets,
  randomData,
  randomQuestion,
  randomSource,
} from './random-data.ts';

const { warehouse, client } = await createTestWarehouse();

const SITES = 25;
const QUESTIONS_PER_SITE = 6;
const AT_ONCE = 4;
const metricTypes = Object.keys(dimensions) as (keyof typeof dimensions)[];

/** REFERENCE_SEED repeats a run that failed. */
const seed = Number(process.env.REFERENCE_SEED ?? Date.now() % 1_000_000);

test(`random questions over random events have the reference's answers (seed ${seed})`, async () => {
  const chance = createChance(seed);
  const sites = Array.from({ length: SITES }, () => randomData(chance, createTestSite(warehouse)));
  for (const block of splitAtRandom(
    sites.flatMap(({ rows }) => rows),
    chance,
  ))
    await warehouse.insertEvents(toBlock(block), randomUUID());

  const asked = sites.flatMap((data) =>
    Array.from({ length: QUESTIONS_PER_SITE }, () => ({
      rows: data.rows,
      question: randomQuestion(chance, data),
      chance: createChance(chance.whole(1_000_000)),
    })),
  );
  const askOn = async () => {
    for (let next = asked.pop(); next; next = asked.pop()) {
      await compare(next);
      if (next.chance.often(0.5)) await compareLog(next);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, askOn));
}, 300_000);

test(`visitors of every source have the reference's channel (seed ${seed})`, async () => {
  const chance = createChance(seed);
  const site = createTestSite(warehouse);
  const rows = await site.insert(
    Array.from({ length: 2_000 }, (_, i) => ({ t: '10:00', session: `u${i}`, ...randomSource(chance) })),
  );
  const ranking = { type: 'channel', limit: 100, offset: 0 } as const;
  const { value } = await warehouse.getMetrics(site.ask(), ranking);
  expect(value).toEqual(referenceMetrics(rows, site.ask(), ranking).metrics);
  expect(value).toHaveLength(15);
});

test('the rollups of events that came in several blocks are those of the events as a whole', async () => {
  for (const table of rollupTables) {
    const [view] = await select<{ as_select: string }>(
      `SELECT as_select FROM system.tables WHERE database = currentDatabase() AND name = '${table}_mv'`,
    );
    const [stored, fresh] = [`SELECT * FROM ${table} FINAL`, view?.as_select];
    expect(await select(`SELECT count() > 100 AS enough FROM (${stored})`), table).toEqual([{ enough: 1 }]);
    expect(await select(`(${stored} EXCEPT ${fresh}) UNION ALL (${fresh} EXCEPT ${stored})`), table).toEqual([]);
  }
});

function splitAtRandom<T>(list: T[], chance: Chance): T[][] {
  const blocks: T[][] = [[], [], []];
  for (const value of list) chance.pick(blocks).push(value);
  return blocks;
}

async function select<Row>(query: string): Promise<Row[]> {
  const result = await client.query({ query, format: 'JSONEachRow' });
  return result.json<Row>();
}

type Asked = { rows: RandomData['rows']; question: Question; chance: Chance };

async function compare({ rows, question, chance }: Asked): Promise<void> {
  const buckets = randomBuckets(chance, question);
  const ranking = {
    type: chance.pick([...metricTypes, 'channel', 'channel', 'path', 'entry', 'exit'] as const),
    limit: chance.pick([1_000, 1_000, 2]),
    offset: chance.pick([0, 0, 1]),
    search: chance.pick(['', '', 'e', 'É', 'ŁÓ', '%']),
  };
  const since = chance.pick([question.range.startAt, question.range.endAt]);
  const [stats, series, metrics, expanded, active] = await Promise.all([
    warehouse.getStats(question),
    warehouse.getPageviewSeries(question, buckets),
    warehouse.getMetrics(question, ranking),
    warehouse.getExpandedMetrics(question, ranking),
    warehouse.getActiveVisitors(question, since),
  ]);
  expect(
    {
      stats: stats.value,
      series: series.value,
      metrics: metrics.value,
      expanded: expanded.value,
      active: active.value,
    },
    JSON.stringify({ seed, question, buckets: buckets.slice(0, 30), ranking, since }),
  ).toEqual({
    stats: referenceStats(rows, question),
    series: referenceSeries(rows, question, buckets),
    ...referenceMetrics(rows, question, ranking),
    active: referenceActive(rows, question, since),
  });
}

/** The log as one page, cut by maxResults, as a page somewhere, and from cursor to cursor in pages of any size. */
async function compareLog({ rows, question, chance }: Asked): Promise<void> {
  const search = chance.pick(['', '', 'a', 'ŻÓ', '%']);
  const all = referenceLog(rows, question, search);
  const maxResults = chance.pick([undefined, undefined, 1 + chance.whole(all.length + 2)]);
  const seen = all.slice(0, maxResults);
  const told = JSON.stringify({ seed, question, search, maxResults });
  const read = async (page: LogPage) => (await warehouse.listEvents(question, page, { search, maxResults })).value;
  const count = { count: seen.length, isCapped: all.length > seen.length };

  const [offset, limit] = [chance.whole(all.length + 2), 1 + chance.whole(10)];
  expect(await read({ offset: 0, limit: 1_000 }), told).toEqual({ rows: seen, ...count, nextCursor: null });
  expect(await read({ offset, limit }), told).toMatchObject({ rows: seen.slice(offset, offset + limit), ...count });

  const pageMax = 1 + chance.whole(Math.ceil(seen.length / 2));
  const walked: typeof all = [];
  let next: LogPage | null = { offset: 0, limit: 1 + chance.whole(pageMax) };
  while (next) {
    const page: EventLog = await read(next);
    expect(page, told).toMatchObject({ rows: seen.slice(walked.length, walked.length + next.limit), ...count });
    walked.push(...page.rows);
    expect(page.nextCursor === null, told).toBe(walked.length === seen.length);
    next = page.nextCursor && { cursor: page.nextCursor, limit: pageMax + chance.whole(5) };
  }
  expect(walked, told).toEqual(seen);
}
