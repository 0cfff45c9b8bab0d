import { z } from 'zod';
import {
  eventCondition,
  NO_PROJECTION,
  VISIT_HASH,
  VISITOR_OF_ROW,
  VISITOR_OF_VISIT,
  VISITORS_OF_VISITS,
  visitCondition,
  visitScope,
} from '../conditions.ts';
import { type Bind, buildQuery, type Query } from '../query.ts';
import type { Answer, Question } from '../question.ts';
import type { ReadFrom } from '../read-from.ts';
import type { RunQuery } from '../run-query.ts';
import {
  asksForWholeVisits,
  cutVisits,
  filteredAttributes,
  fittingVisits,
  inCutVisits,
  SECONDS_OF_ROW,
  SECONDS_OF_VISIT,
  wholeVisits,
} from '../visit-rows.ts';

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
export async function getStats(run: RunQuery, question: Question, from: ReadFrom): Promise<Answer<Stats>> {
  const { rows, timing } = await run(statsQuery(question, from), question, StatsRow);
  return { value: rows[0] ?? NO_STATS, timing };
}

/** Which way leads to the numbers, by what is asked. */
export function statsQuery(question: Question, from: ReadFrom): Query {
  if (from === 'events') return statsOfEvents(question);
  if (asksForWholeVisits(question)) return statsOfVisits(question);
  const { cohort, collectedSince, excludeBounce } = question;
  return cohort || collectedSince || excludeBounce ? statsOfEvents(question) : statsOfVisitsWithFittingEvents(question);
}

/**
 * How visitors are counted. Estimated: usually within half a percent, in half the time where they are many
 * (DECISIONS.md, 2026-11-29).
 */
const visitorCount = ({ approximate }: Question) => (approximate ? 'uniqCombined64(17)(visitor)' : VISITORS_OF_VISITS);

const fiveNumbers = (
  question: Question,
  pageviews: string,
) => `${pageviews} AS pageviews, ${visitorCount(question)} AS visitors, count() AS visits,
  countIf(all_pageviews = 1) AS bounces, sum(seconds) AS totaltime`;

function statsOfEvents(question: Question): Query {
  return buildQuery(
    (bind) =>
      `SELECT ${fiveNumbers(question, 'sum(fitting_pageviews)')} FROM (${visitsOfEvents(question, bind)}) ${NO_PROJECTION}`,
  );
}

/** Visitor, bounce and duration of a visit are judged over all its events in the range, fitting or not. */
function visitsOfEvents(question: Question, bind: Bind, among = '1'): string {
  return `
    WITH ${eventCondition(question, bind)} AS fits
    SELECT
      ${VISITOR_OF_VISIT} AS visitor,
      countIf(event_type = 1) AS all_pageviews,
      countIf(fits AND event_type = 1) AS fitting_pageviews,
      ${SECONDS_OF_VISIT} AS seconds
    FROM events
    WHERE ${visitScope(question, bind)} AND ${among}
    GROUP BY visit_id
    HAVING countIf(fits) > 0 AND ${visitCondition(question, bind, 'all_pageviews')}`;
}

function statsOfVisits(question: Question): Query {
  const without = filteredAttributes(question);
  return buildQuery(
    (bind) => `
    WITH ${cutVisits(question, bind, without)}
    SELECT ${fiveNumbers(question, 'sum(fitting_pageviews)')}
    FROM (
      SELECT ${VISITOR_OF_ROW} AS visitor, pageviews AS all_pageviews, pageviews AS fitting_pageviews, ${SECONDS_OF_ROW} AS seconds
      FROM site_visits FINAL
      WHERE ${fittingVisits(question, bind, without)}
      UNION ALL
      ${visitsOfEvents(question, bind, inCutVisits(question, bind, without))}
    ) ${NO_PROJECTION}`,
  );
}

/** First which visits have a fitting event, then these visits' rows. */
function statsOfVisitsWithFittingEvents(question: Question): Query {
  return buildQuery((bind) => {
    const fitting = `FROM events WHERE ${visitScope(question, bind)} AND ${eventCondition(question, bind)}`;
    return `
    WITH ${cutVisits(question, bind, [])}
    SELECT ${fiveNumbers(question, `(SELECT countIf(event_type = 1) ${fitting})`)}
    FROM (
      SELECT ${VISITOR_OF_ROW} AS visitor, pageviews AS all_pageviews, ${SECONDS_OF_ROW} AS seconds
      FROM site_visits FINAL
      WHERE ${wholeVisits(question, bind, [])} AND ${VISIT_HASH} IN (SELECT ${VISIT_HASH} ${fitting})
      UNION ALL
      SELECT visitor, all_pageviews, seconds FROM (${visitsOfEvents(question, bind, inCutVisits(question, bind, []))})
    )`;
  });
}
