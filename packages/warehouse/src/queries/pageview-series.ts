import { z } from 'zod';
import { matchCondition, visitScope } from '../conditions.ts';
import { buildQuery, type Query } from '../query.ts';
import type { Answer, Question } from '../question.ts';
import type { RunQuery } from '../run-query.ts';

const BucketRow = z.object({ bucketStart: z.number(), pageviews: z.number(), visits: z.number() });

/** One number per bucket, in the order of the buckets. */
export type PageviewSeries = { pageviews: number[]; visits: number[] };

/**
 * Pageviews and visits of each bucket. A visit belongs to every bucket in which it has a fitting event.
 * `bucketStarts`: UTC milliseconds, ascending, the first at or before the range's start; each bucket ends where the next one starts, the last one with the range.
 */
export async function getPageviewSeries(
  run: RunQuery,
  question: Question,
  bucketStarts: readonly number[],
): Promise<Answer<PageviewSeries>> {
  const { rows, timing } = await run(pageviewSeriesQuery(question, bucketStarts), question, BucketRow);
  const found = new Map(rows.map((row) => [row.bucketStart, row]));
  const column = (name: 'pageviews' | 'visits') => bucketStarts.map((start) => found.get(start)?.[name] ?? 0);
  return { value: { pageviews: column('pageviews'), visits: column('visits') }, timing };
}

/** Trap: a parameter holds at most 128 KiB. 10,000 borders fit as steps from one to the next, not as instants. */
function pageviewSeriesQuery(question: Question, bucketStarts: readonly number[]): Query {
  const steps = bucketStarts.map((start, index) => start - (bucketStarts[index - 1] ?? 0));
  return buildQuery(
    (bind) => `
    SELECT
      roundDown(toUnixTimestamp64Milli(created_at), arrayCumSum(${bind(steps, 'Array(Int64)')})) AS bucketStart,
      countIf(event_type = 1) AS pageviews,
      uniqExact(visit_id) AS visits
    FROM events
    WHERE ${visitScope(question, bind)} AND ${matchCondition(question, bind)}
    GROUP BY bucketStart`,
  );
}
