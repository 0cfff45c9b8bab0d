import { z } from 'zod';
import { matchCondition, NO_PROJECTION, projectionFor, visitScope } from '../conditions.ts';
import { type Bind, buildQuery, type Query } from '../query.ts';
import type { Answer, Question } from '../question.ts';
import type { ReadFrom } from '../read-from.ts';
import type { RunQuery } from '../run-query.ts';
import {
  asksForWholeVisits,
  cutVisits,
  FIRST_QUARTER_MS,
  hasFilters,
  inCutVisits,
  wholeVisitsBetweenAndAtEnds,
} from '../visit-rows.ts';
import { outsideWholeQuarters, quarterMs, wholeQuarters } from '../whole-quarters.ts';

const BucketRow = z.object({ bucketStart: z.number(), pageviews: z.number(), visits: z.number() });

/** One number per bucket, in the order of the buckets. */
export type PageviewSeries = { pageviews: number[]; visits: number[] };

/**
 * Pageviews and visits of each bucket. A visit belongs to every bucket in which it has a fitting event.
 * `bucketStarts`: UTC milliseconds, ascending, the first at or before the range's start; each bucket ends where the
 * next one starts, the last one with the range.
 */
export async function getPageviewSeries(
  run: RunQuery,
  question: Question,
  bucketStarts: readonly number[],
  from: ReadFrom,
): Promise<Answer<PageviewSeries>> {
  const query =
    from === 'rollups' && isOfQuarters(question, bucketStarts)
      ? seriesOfRollups(question, bucketStarts)
      : seriesOfEvents(question, bucketStarts, from);
  const { rows, timing } = await run(query, question, BucketRow);
  const found = new Map(rows.map((row) => [row.bucketStart, row]));
  const column = (name: 'pageviews' | 'visits') => bucketStarts.map((start) => found.get(start)?.[name] ?? 0);
  return { value: { pageviews: column('pageviews'), visits: column('visits') }, timing };
}

/**
 * Rollups know in which quarters of an hour a visit has events; pageviews are counted per quarter for all events
 * together.
 */
function isOfQuarters(question: Question, bucketStarts: readonly number[]): boolean {
  const isPlain = asksForWholeVisits(question) && !hasFilters(question) && !question.excludeBounce;
  return isPlain && bucketStarts.every((start) => start % quarterMs === 0);
}

function seriesOfEvents(question: Question, bucketStarts: readonly number[], from: ReadFrom): Query {
  return buildQuery(
    (bind) => `
    WITH ${borders(bucketStarts, bind)}
    SELECT ${bucketOf('toUnixTimestamp64Milli(created_at)')} AS bucketStart, countIf(event_type = 1) AS pageviews, uniqExact(visit_id) AS visits
    FROM events
    WHERE ${visitScope(question, bind)} AND ${matchCondition(question, bind)}
    GROUP BY bucketStart
    ${projectionFor(from)}`,
  );
}

/** Pageviews by quarters, and by events at the range's ends; visits by their rows, cut ones by their events. */
function seriesOfRollups(question: Question, bucketStarts: readonly number[]): Query {
  return buildQuery((bind) => {
    const isOutside = outsideWholeQuarters(question, bind);
    const outside = isOutside
      ? `
      UNION ALL
      SELECT ${bucketOf('toUnixTimestamp64Milli(created_at)')} AS bucketStart, toInt64(countIf(event_type = 1)) AS pageviews, toUInt64(0) AS visits
      FROM events
      WHERE ${visitScope(question, bind)} AND ${isOutside}
      GROUP BY bucketStart`
      : '';
    return `
    WITH ${borders(bucketStarts, bind)}, ${cutVisits(question, bind, 'quarters')}
    SELECT bucketStart, sum(pageviews) AS pageviews, sum(visits) AS visits
    FROM (
      SELECT ${bucketOf('toInt64(toUnixTimestamp(bucket)) * 1000')} AS bucketStart, sum(pageviews) AS pageviews, toUInt64(0) AS visits
      FROM site_15m
      WHERE ${wholeQuarters(question, bind)}
      GROUP BY bucketStart${outside}
      UNION ALL
      SELECT
        arrayJoin(arrayDistinct(arrayMap(i -> ${bucketOf(`first_quarter_ms + i * ${quarterMs}`)}, bitPositionsToArray(quarters)))) AS bucketStart,
        toInt64(0) AS pageviews,
        sum(n) AS visits
      FROM (${wholeVisitsBetweenAndAtEnds(question, bind).map(visitsByQuarters).join(' UNION ALL ')})
      GROUP BY bucketStart
      UNION ALL
      SELECT ${bucketOf('toUnixTimestamp64Milli(created_at)')} AS bucketStart, toInt64(0) AS pageviews, uniqExact(visit_id) AS visits
      FROM events
      WHERE ${visitScope(question, bind)} AND ${inCutVisits(question, bind, 'quarters')}
      GROUP BY bucketStart
    )
    GROUP BY bucketStart
    ${NO_PROJECTION}`;
  });
}

/** How many visits have events in the same quarters. */
const visitsByQuarters = (visits: string) => `
        SELECT ${FIRST_QUARTER_MS} AS first_quarter_ms, quarters, count() AS n
        FROM site_visits FINAL
        WHERE ${visits}
        GROUP BY start_hour, quarters`;

/** 10,000 borders fit into a parameter (`fitsParameter`) as steps from one to the next, not as instants. */
function borders(bucketStarts: readonly number[], bind: Bind): string {
  const steps = bucketStarts.map((start, index) => start - (bucketStarts[index - 1] ?? 0));
  return `arrayCumSum(${bind(steps, 'Array(Int64)')}) AS borders`;
}

const bucketOf = (ms: string) => `roundDown(${ms}, borders)`;
