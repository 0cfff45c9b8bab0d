import { type PageviewsAnswer, PageviewsQuery, type Series, type Unit } from '@meridian/contract/statistics';
import type { Answer, DateRange, Question } from '@meridian/warehouse/question';
import { Hono } from 'hono';
import { badRequest } from '../http/bad-request.ts';
import { serverTiming } from '../http/server-timing.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { type Bucket, bucketsMax, bucketsOf, finestUnit } from '../statistics/buckets.ts';
import { comparisonRange } from '../statistics/comparison-range.ts';
import { readQuestion } from '../statistics/read-question.ts';
import type { TimeZone } from '../statistics/time-zone.ts';

/** GET /websites/{websiteId}/pageviews: pageviews and visits of each bucket of a range, zero-filled. */
export function pageviewsRoutes(deps: QueryDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>().get('/websites/:websiteId/pageviews', async (c) => {
    const { query, zone, question } = await readQuestion(deps, c, 'GET /websites/{id}/pageviews', PageviewsQuery);
    const ask = (range: DateRange) => getSeries(deps, { ...question, range }, getBuckets(range, query.unit, zone));
    const [series, compare] = await Promise.all([
      ask(question.range),
      query.compare && ask(comparisonRange(question.range, query.compare, zone)),
    ]);
    serverTiming(c, series.timing, compare?.timing);
    return c.json({ ...series.value, ...(compare && { compare: compare.value }) } satisfies PageviewsAnswer);
  });
}

function getBuckets(range: DateRange, unit: Unit, zone: TimeZone): Bucket[] {
  const buckets = bucketsOf(range, unit, zone);
  if (buckets !== null) return buckets;
  const finest = finestUnit(range, zone);
  throw badRequest('unit', `makes more than ${bucketsMax} points of this range; the finest unit allowed is ${finest}`);
}

async function getSeries(
  { warehouse }: QueryDeps,
  question: Question,
  buckets: readonly Bucket[],
): Promise<Answer<Series>> {
  const { value, timing } = await warehouse.getPageviewSeries(
    question,
    buckets.map(({ startMs }) => startMs),
  );
  const points = (counts: number[]) => buckets.map(({ label }, i) => ({ x: label, y: counts[i] ?? 0 }));
  const { startAt, endAt } = question.range;
  const series = {
    pageviews: points(value.pageviews),
    sessions: points(value.visits),
    startDate: startAt.toISOString(),
    endDate: endAt.toISOString(),
  };
  return { value: series, timing };
}
