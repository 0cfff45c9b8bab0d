import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { dimensions } from '../queries/dimensions.ts';
import { rollupTables } from '../rollups.ts';
import { createTestSite, toBlock } from '../test-site.ts';
import { createTestWarehouse } from '../test-warehouse.ts';
import {
  type ReferenceMetricType,
  referenceActive,
  referenceLog,
  referenceMetrics,
  referenceSeries,
  referenceStats,
} from './answers.ts';
import { type Chance, createChance, randomBuckets, randomQuestion, randomRows } from './random-data.ts';

const { warehouse, client } = await createTestWarehouse();

const SITES = 25;
const QUESTIONS_PER_SITE = 6;
const metricTypes = Object.keys(dimensions).filter((type): type is ReferenceMetricType => type !== 'channel');

/** REFERENCE_SEED repeats a run that failed. */
const seed = Number(process.env.REFERENCE_SEED ?? Date.now() % 1_000_000);

test(`random questions over random events have the reference's answers (seed ${seed})`, async () => {
  const chance = createChance(seed);
  const sites = Array.from({ length: SITES }, () => createTestSite(warehouse));
  const rows = sites.map((site) => randomRows(chance, site));
  for (const block of splitAtRandom(rows.flat(), chance)) await warehouse.insertEvents(toBlock(block), randomUUID());

  for (const [i, site] of sites.entries())
    for (let n = 0; n < QUESTIONS_PER_SITE; n++) {
      const question = randomQuestion(chance, site.websiteId);
      await compare(rows[i] ?? [], question, chance);
    }
}, 300_000);

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

async function compare(
  rows: Parameters<typeof referenceStats>[0],
  question: ReturnType<typeof randomQuestion>,
  chance: ReturnType<typeof createChance>,
) {
  const buckets = randomBuckets(chance, question);
  const type = chance.pick(metricTypes);
  const search = chance.pick(['', '', 'a', 'ŻÓ', '%']);
  const ranking = {
    ...{ type, limit: chance.pick([1_000, 1_000, 2]), offset: chance.pick([0, 0, 1]) },
    search: chance.pick(['', '', 'e', 'É', 'ŁÓ', '%']),
  };
  const since = chance.pick([question.range.startAt, question.range.endAt]);
  const [stats, series, metrics, expanded, log, active] = await Promise.all([
    warehouse.getStats(question),
    warehouse.getPageviewSeries(question, buckets),
    warehouse.getMetrics(question, ranking),
    warehouse.getExpandedMetrics(question, ranking),
    warehouse.listEvents(question, { offset: 0, limit: 1000 }, { search }),
    warehouse.getActiveVisitors(question, since),
  ]);
  const reference = referenceMetrics(rows, question, ranking);
  expect(
    {
      stats: stats.value,
      series: series.value,
      metrics: metrics.value,
      expanded: expanded.value,
      log: log.value.rows.map((row) => row.id),
      count: log.value.count,
      active: active.value,
    },
    JSON.stringify({ question, buckets, ranking, search, since }),
  ).toEqual({
    stats: referenceStats(rows, question),
    series: referenceSeries(rows, question, buckets),
    ...reference,
    log: referenceLog(rows, question, search),
    count: referenceLog(rows, question, search).length,
    active: referenceActive(rows, question, since),
  });
}
