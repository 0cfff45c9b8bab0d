import { z } from 'zod';
import { matchCondition, VISITOR_OF_VISIT, visitScope } from '../conditions.ts';
import { buildQuery, type Query } from '../query.ts';
import type { Answer, Question } from '../question.ts';
import type { RunQuery } from '../run-query.ts';

const StatsRow = z.object({
  pageviews: z.number(),
  visitors: z.number(),
  visits: z.number(),
  bounces: z.number(),
  /** Seconds. */
  totaltime: z.number(),
});
export type Stats = z.infer<typeof StatsRow>;

const NO_STATS: Stats = { pageviews: 0, visitors: 0, visits: 0, bounces: 0, totaltime: 0 };

/** The five numbers (docs/semantics.md "The five numbers"). */
export async function getStats(run: RunQuery, question: Question): Promise<Answer<Stats>> {
  const { rows, timing } = await run(statsQuery(question), question, StatsRow);
  return { value: rows[0] ?? NO_STATS, timing };
}

/** Visitor, bounce and duration of a visit are judged over all its events in the range, fitting or not. */
export function statsQuery(question: Question): Query {
  return buildQuery(
    (bind) => `
    WITH ${matchCondition(question, bind)} AS fits
    SELECT
      sum(fitting_pageviews) AS pageviews,
      uniqExact(visitor) AS visitors,
      count() AS visits,
      countIf(all_pageviews = 1) AS bounces,
      sum(seconds) AS totaltime
    FROM (
      SELECT
        ${VISITOR_OF_VISIT} AS visitor,
        countIf(event_type = 1) AS all_pageviews,
        countIf(fits AND event_type = 1) AS fitting_pageviews,
        intDiv(toUnixTimestamp64Milli(max(created_at)) - toUnixTimestamp64Milli(min(created_at)), 1000) AS seconds
      FROM events
      WHERE ${visitScope(question, bind)}
      GROUP BY visit_id
      HAVING countIf(fits) > 0
    )`,
  );
}
