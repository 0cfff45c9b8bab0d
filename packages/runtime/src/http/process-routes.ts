import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorBody } from '@meridian/contract/errors';
import type { Readiness } from '../health.ts';

/**
 * Answers GET /livez (the process runs) and /readyz (requests should come here).
 * False: the path is another one, and nothing was done.
 */
export function answerProcessRoute(
  request: IncomingMessage,
  response: ServerResponse,
  readiness: () => Promise<Readiness>,
): boolean {
  const path = request.url?.split('?')[0];
  if (path !== '/livez' && path !== '/readyz') return false;
  if (path === '/livez') answerPlainly(response, 200, { ok: true });
  else {
    void readiness().then((found) => answerPlainly(response, found.ok ? 200 : 503, found));
  }
  return true;
}

/** The answer to a path that the process does not know. */
export function answerNotFound(response: ServerResponse): void {
  answerPlainly(response, 404, errorBody('not-found', 'Not found'));
}

/** Of JSON that nobody may keep, or take for something else. */
export const plainHeaders = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** JSON with `plainHeaders`. */
export function answerPlainly(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, plainHeaders);
  response.end(JSON.stringify(body));
}
