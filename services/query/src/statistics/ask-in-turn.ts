import type { Context } from 'hono';
import { clientSignal } from '../http/node-answer.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import type { QuestionTurns } from './question-turns.ts';

/** What a route needs whose questions take turns. */
export type AskingDeps = QueryDeps & { turns: QuestionTurns };

/**
 * Asks the warehouse when it is the turn of the request's account, whose keys and sessions share its turns, or of the website that share
 * links show. `ask` may make several queries at once. The time that was waited goes into the log line.
 * @throws ApiError 503 or 429 when it does not get a turn
 */
export function askInTurn<Value>(
  { turns }: Pick<AskingDeps, 'turns'>,
  c: Context<QueryEnv>,
  ask: () => Promise<Value>,
): Promise<Value> {
  const sinceMs = performance.now();
  const reader = c.get('reader');
  const askerId = 'share' in reader ? `links of ${reader.share.websiteId}` : reader.userId;
  return turns.take(askerId, clientSignal(c), () => {
    c.get('logFields').waitedMs = Math.round(performance.now() - sinceMs);
    return ask();
  });
}
