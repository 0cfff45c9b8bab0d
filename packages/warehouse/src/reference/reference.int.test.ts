import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { dimensions } from '../queries/dimensions.ts';
import type { EventLog } from '../queries/event-log.ts';
import type { LogPage } from '../queries/event-log-rows.ts';
import type { Question } from '../question.ts';
import { rollupTables } from '../rollups/repair.ts';
import { createTestSite, toBlock } from '../test-site.ts';
import { createTestWarehouse } from '../test-warehouse.ts';
import {
  grouped,
  referenceActive,
  referenceLog,
  referenceMetrics,
  referenceSeries,
  referenceStats,
} from './answers.ts';
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

const chance = createChance(seed);
const sites = Array.from({ length: SITES }, () => randomData(chance, createTestSite(warehouse)));
const allRows = sites.flatMap(({ rows }) => rows);
for (const block of splitAtRandom(allRows, chance)) await warehouse.insertEvents(toBlock(block), randomUUID());

test(`random questions over random events have the reference's answers (seed ${seed})`, async () => {
  const asked = sites.flatMap((data) =>
    Array.from({ length: QUESTIONS_PER_SITE }, () => ({
      rows: data.rows,
      question: randomQuestion(chance, data),
      chance: createChance(chance.whole(1_000_000)),
    })),
  );
  await forEach(asked, async (next) => {
    await compare(next);
    if (next.chance.often(0.5)) await compareLog(next);
  });
}, 600_000);

test(`a visit that a range cuts counts with its events inside, however far from its start they are (seed ${seed})`, async () => {
  await forEach(sites, async ({ websiteId, rows }) => {
    const visits = grouped(rows, (row) => row.visitId)
      .map((visit) => visit.map((row) => row.createdAtMs).sort((a, b) => a - b))
      .sort((a, b) => lengthOf(b) - lengthOf(a));
    for (const times of [...visits.slice(0, 2), ...visits.slice(-1)]) {
      const [first = 0, second = first, last = first] = [times[0], times[1], times.at(-1)];
      for (const [startMs, endMs] of [
        [last, last + 10 * 86_400_000],
        [second, last],
        [first - 10 * 86_400_000, last - 1],
        [first + 1, last + 3_600_000],
      ] as const) {
        const range = { startAt: new Date(Math.min(startMs, endMs)), endAt: new Date(endMs) };
        const question: Question = { websiteId, range, filters: [], match: 'all', route: 'test' };
        const hours = [Math.floor(range.startAt.getTime() / 3_600_000) * 3_600_000];
        while ((hours.at(-1) ?? 0) + 3_600_000 <= endMs) hours.push((hours.at(-1) ?? 0) + 3_600_000);
        const [stats, series] = [
          await warehouse.getStats(question),
          await warehouse.getPageviewSeries(question, hours),
        ];
        expect({ stats: stats.value, series: series.value }, JSON.stringify({ seed, question })).toEqual({
          stats: referenceStats(rows, question),
          series: referenceSeries(rows, question, hours),
        });
      }
    }
  });
}, 600_000);

test(`visitors of every source have the reference's channel (seed ${seed})`, async () => {
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
    const enough = table === 'stray_visits' ? 0 : 100; // strays are rare
    expect(await select(`SELECT count() > ${enough} AS isEnough FROM (${stored})`), table).toEqual([{ isEnough: 1 }]);
    expect(await select(`(${stored} EXCEPT ${fresh}) UNION ALL (${fresh} EXCEPT ${stored})`), table).toEqual([]);
  }
});

const lengthOf = (times: number[]) => (times.at(-1) ?? 0) - (times[0] ?? 0);

async function forEach<T>(list: readonly T[], check: (value: T) => Promise<void>): Promise<void> {
  const waiting = [...list];
  const goOn = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await check(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, goOn));
}

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
    search: chance.pick(['', '', 'e', 'É', 'ŁÓ', 'ι', '%']),
  };
  const { startAt, endAt } = question.range;
  const activeRange = chance.pick([question.range, { startAt, endAt: startAt }, { startAt: endAt, endAt }]);
  const [stats, series, metrics, expanded, active] = await Promise.all([
    warehouse.getStats(question),
    warehouse.getPageviewSeries(question, buckets),
    warehouse.getMetrics(question, ranking),
    warehouse.getExpandedMetrics(question, ranking),
    warehouse.getActiveVisitors(question, activeRange),
  ]);
  expect(
    {
      stats: stats.value,
      series: series.value,
      metrics: metrics.value,
      expanded: expanded.value,
      active: active.value,
    },
    JSON.stringify({ seed, question, buckets: buckets.slice(0, 30), ranking, activeRange }),
  ).toEqual({
    stats: referenceStats(rows, question),
    series: referenceSeries(rows, question, buckets),
    ...referenceMetrics(rows, question, ranking),
    active: referenceActive(rows, question, activeRange),
  });
}

/** The log as one page, cut by maxResults, as a page somewhere, and from cursor to cursor in pages of any size. */
async function compareLog({ rows, question, chance }: Asked): Promise<void> {
  const search = chance.pick(['', '', 'a', 'ŻÓ', 'ΜΟΥ', '%']);
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
