import { WarehouseError } from '@meridian/warehouse/warehouse-error';
import type { Context } from 'hono';
import { clientSignal } from '../http/node-answer.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { refuseQuestion } from './invalid-expression.ts';
import type { QuestionTurns } from './question-turns.ts';

/** What a route needs whose questions take turns. */
export type AskingDeps = QueryDeps & { turns: QuestionTurns };

/**
 * Asks a store when it is the turn of the request's account, whose keys and sessions share its turns, or of the
 * website that share links show. `ask` may make several queries at once. The time that was waited goes into the log
 * line.
 * @throws ApiError 503 or 429 when it does not get a turn, 400 that names the filter whose expression is not valid
 */
export async function askInTurn<Value>(
  deps: AskingDeps,
  c: Context<QueryEnv>,
  ask: () => Promise<Value>,
): Promise<Value> {
  const sinceMs = performance.now();
  const reader = c.get('reader');
  const askerId = 'share' in reader ? `links of ${reader.share.websiteId}` : reader.userId;
  return deps.turns.take(askerId, clientSignal(c), async () => {
    c.get('logFields').waitedMs = Math.round(performance.now() - sinceMs);
    try {
      return await ask();
    } catch (error) {
      if (error instanceof WarehouseError && error.kind === 'invalid-expression') return refuseQuestion(deps, c);
      throw error;
    }
  });
}
