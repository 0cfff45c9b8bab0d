import { z } from 'zod';
import { collectedCondition, NO_PROJECTION, VISITOR_OF_VISIT } from '../conditions.ts';
import { buildQuery, type Query } from '../query.ts';
import type { Answer, Question } from '../question.ts';
import type { QueryContext, RunQuery } from '../run-query.ts';

const ActiveRow = z.object({ visitors: z.number() });

/** `collectedSince`: as in a Question. */
export type ActiveVisitorsContext = QueryContext & Pick<Question, 'collectedSince'>;

/** Visitors with an event of type 1 or 2 at or after `since`. */
export async function getActiveVisitors(
  run: RunQuery,
  context: ActiveVisitorsContext,
  since: Date,
): Promise<Answer<number>> {
  const { rows, timing } = await run(activeVisitorsQuery(context, since), context, ActiveRow);
  return { value: rows[0]?.visitors ?? 0, timing };
}

function activeVisitorsQuery({ websiteId, collectedSince }: ActiveVisitorsContext, since: Date): Query {
  return buildQuery(
    (bind) => `
    SELECT uniqExact(visitor) AS visitors
    FROM (
      SELECT ${VISITOR_OF_VISIT} AS visitor
      FROM events
      WHERE website_id = ${bind(websiteId, 'UUID')}
        AND created_at >= fromUnixTimestamp64Milli(${bind(since.getTime(), 'Int64')}, 'UTC')
        AND event_type IN (1, 2)${collectedCondition(collectedSince, bind)}
      GROUP BY visit_id
    )
    ${NO_PROJECTION}`,
  );
}
