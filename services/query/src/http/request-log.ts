import type { Logger } from '@meridian/runtime/logger';
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { QueryCounts } from '../query-counts.ts';
import type { Caller, QueryEnv } from '../query-env.ts';
import { isClientGone } from './node-answer.ts';

const slowMs = 1_000;

/**
 * Counts every request, and writes one wide line of it: at level error when the fault is ours, at info when it was slow
 * or belongs to the share that `logSampleRate` takes, else at debug. What meets no route is told without its path,
 * which may hold anything, and so is a link.
 */
export function requestLog(deps: {
  logger: Pick<Logger, 'isLevelEnabled' | 'error' | 'info' | 'debug'>;
  counts: Pick<QueryCounts, 'request'>;
  logSampleRate: number;
}): MiddlewareHandler<QueryEnv> {
  const { logger, counts, logSampleRate } = deps;
  return async (c, next) => {
    const startedAtMs = performance.now();
    c.set('logFields', {});
    await next();
    const elapsedMs = performance.now() - startedAtMs;
    const { status } = c.res;
    const { method, route } = routeOf(c);
    counts.request({ method, route, status: String(status) }, elapsedMs / 1_000);

    const isShown = elapsedMs >= slowMs || Math.random() < logSampleRate;
    const level = isFaultOfOurs(c, status) && !isClientGone(c) ? 'error' : isShown ? 'info' : 'debug';
    if (!logger.isLevelEnabled(level)) return;
    const requestId = c.get('requestId');
    const caller = callerOf(c);
    // Who knows the slug of a link reads what it shows.
    const path = route === unmatched || route.endsWith('/:slug') ? undefined : c.req.path;
    const durationMs = Math.round(elapsedMs);
    logger[level]({ requestId, method, route, path, status, durationMs, ...caller, ...c.get('logFields') }, 'request');
  };
}

/** What cannot show that it is from another region is refused with 503 as well, and anybody can send it. */
export function isFaultOfOurs(c: Context<QueryEnv>, status: number): boolean {
  return status >= 500 && c.get('peer') !== null;
}

/** Who asked, by ids that can be looked up; nothing where the credential was not accepted. */
function callerOf(c: Context<QueryEnv>): { userId?: string; keyId?: string } {
  const caller: Caller | undefined = c.get('caller');
  if (!caller) return {};
  const { userId, credential } = caller;
  return credential.kind === 'api-key' ? { userId, keyId: credential.keyId } : { userId };
}

/** The route of what meets none. */
export const unmatched = 'unmatched';

/**
 * Method and pattern of the route that the request met, once it is answered. Middlewares are registered for ALL
 * methods, routes for one.
 */
export function routeOf(c: Context<QueryEnv>): { method: string; route: string } {
  const found = matchedRoutes(c).find(({ method }) => method !== 'ALL');
  return found ? { method: found.method, route: found.path } : { method: unmatched, route: unmatched };
}
