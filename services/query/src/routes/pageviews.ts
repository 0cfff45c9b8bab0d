import { type PageviewsAnswer, PageviewsQuery, type Series, type Unit } from '@meridian/contract/statistics';
import type { Answer, DateRange, Question } from '@meridian/warehouse/question';
import { Hono } from 'hono';
import { badRequest } from '../http/bad-request.ts';
import { serverTiming } from '../http/server-timing.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { type AskingDeps, askInTurn } from '../statistics/ask-in-turn.ts';
import { type Bucket, bucketsMax, bucketsOf, finestUnit } from '../statistics/buckets.ts';
import { comparisonRange } from '../statistics/comparison-range.ts';
import { readQuestion } from '../statistics/read-question.ts';
import type { TimeZone } from '../statistics/time-zone.ts';

/** GET /websites/{websiteId}/pageviews: pageviews and visits of each bucket of a range, zero-filled. */
export function pageviewsRoutes(deps: AskingDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>().get('/websites/:websiteId/pageviews', async (c) => {
    const { query, zone, question } = await readQuestion(deps, c, PageviewsQuery);
    const prepare = (range: DateRange) => {
      const buckets = getBuckets(range, query.unit, zone);
      return () => getSeries(deps, { ...question, range }, buckets);
    };
    const ask = prepare(question.range);
    const askCompare = query.compare && prepare(comparisonRange(question.range, query.compare, zone));
    const [series, compare] = await askInTurn(deps, c, () => Promise.all([ask(), askCompare?.()]));
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
