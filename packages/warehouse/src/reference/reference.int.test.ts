import { randomUUID } from 'node:crypto';
import { createClickHouseDatabase } from '@meridian/embedded/test-stores';
import { afterAll, expect, test } from 'vitest';
import { dimensions } from '../queries/dimensions.ts';
import { createTestSite } from '../test-site.ts';
import { createWarehouse } from '../warehouse.ts';
import {
  type ReferenceMetricType,
  referenceLog,
  referenceMetrics,
  referenceSeries,
  referenceStats,
} from './answers.ts';
import { createChance, randomBuckets, randomQuestion, randomRows } from './random-data.ts';

const database = await createClickHouseDatabase();
const warehouse = createWarehouse(database.url);
await warehouse.migrate();
afterAll(async () => {
  await warehouse.close();
  await database.drop();
});

const SITES = 25;
const QUESTIONS_PER_SITE = 4;
const metricTypes = Object.keys(dimensions).filter((type): type is ReferenceMetricType => type !== 'channel');

/** REFERENCE_SEED repeats a run that failed. */
const seed = Number(process.env.REFERENCE_SEED ?? Date.now() % 1_000_000);

test(`random questions over random events have the reference's answers (seed ${seed})`, async () => {
  const chance = createChance(seed);
  const sites = Array.from({ length: SITES }, () => createTestSite(warehouse));
  const rows = sites.map((site) => randomRows(chance, site));
  await warehouse.insertEvents(rows.flat(), randomUUID());

  for (const [i, site] of sites.entries())
    for (let n = 0; n < QUESTIONS_PER_SITE; n++) {
      const question = randomQuestion(chance, site.websiteId);
      await compare(rows[i] ?? [], question, chance);
    }
}, 300_000);

async function compare(
  rows: Parameters<typeof referenceStats>[0],
  question: ReturnType<typeof randomQuestion>,
  chance: ReturnType<typeof createChance>,
) {
  const buckets = randomBuckets(chance, question);
  const type = chance.pick(metricTypes);
  const search = chance.pick(['', '', 'a', 'ŻÓ', '%']);
  const ranking = { type, limit: 1000, offset: 0 };
  const [stats, series, metrics, expanded, log] = await Promise.all([
    warehouse.getStats(question),
    warehouse.getPageviewSeries(question, buckets),
    warehouse.getMetrics(question, ranking),
    warehouse.getExpandedMetrics(question, ranking),
    warehouse.listEvents(question, { offset: 0, limit: 1000 }, { search }),
  ]);
  const reference = referenceMetrics(rows, question, type);
  expect(
    {
      stats: stats.value,
      series: series.value,
      metrics: metrics.value,
      expanded: expanded.value,
      log: log.value.rows.map((row) => row.id),
      count: log.value.count,
    },
    JSON.stringify({ question, buckets, type, search }),
  ).toEqual({
    stats: referenceStats(rows, question),
    series: referenceSeries(rows, question, buckets),
    ...reference,
    log: referenceLog(rows, question, search),
    count: referenceLog(rows, question, search).length,
  });
}
