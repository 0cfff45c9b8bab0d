import { z } from 'zod';
import { NO_PROJECTION, VISITOR_OF_VISIT, visitScope } from '../conditions.ts';
import { buildQuery, type Query } from '../query.ts';
import type { Answer, DateRange, Question } from '../question.ts';
import type { QueryContext, RunQuery } from '../run-query.ts';

const ActiveRow = z.object({ visitors: z.number() });

/** `collectedSince`: as in a Question. */
export type ActiveVisitorsContext = QueryContext & Pick<Question, 'collectedSince'>;

/** Visitors with an event of type 1 or 2 in the range: events from the next minutes are stored, too. */
export async function getActiveVisitors(
  run: RunQuery,
  context: ActiveVisitorsContext,
  range: DateRange,
): Promise<Answer<number>> {
  const { rows, timing } = await run(activeVisitorsQuery({ ...context, range }), context, ActiveRow);
  return { value: rows[0]?.visitors ?? 0, timing };
}

function activeVisitorsQuery(scope: Pick<Question, 'websiteId' | 'range' | 'collectedSince'>): Query {
  return buildQuery(
    (bind) => `
    SELECT uniqExact(visitor) AS visitors
    FROM (
      SELECT ${VISITOR_OF_VISIT} AS visitor
      FROM events
      WHERE ${visitScope(scope, bind)}
      GROUP BY visit_id
    )
    ${NO_PROJECTION}`,
  );
}
