import { ServerResponse } from 'node:http';
import type { Context } from 'hono';
import type { QueryEnv } from '../query-env.ts';

/**
 * Sets a header of the answer: on node's answer itself where there is one, because the platform's `Headers`, in which `c.header` collects
 * them, costs more than all else of an answer's head.
 */
export function setHeader(c: Context<QueryEnv>, name: string, value: string): void {
  const answer = c.env?.outgoing;
  if (answer instanceof ServerResponse) answer.setHeader(name, value);
  else c.header(name, value);
}

/** Whether the client has gone away, so that nobody waits for the answer. Asking the request's signal would first make one. */
export function isClientGone(c: Context<QueryEnv>): boolean {
  const answer = c.env?.outgoing;
  return answer ? answer.destroyed && !answer.writableFinished : c.req.raw.signal.aborted;
}
