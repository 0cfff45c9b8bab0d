import type { Logger } from '@meridian/runtime/logger';
import type { MiddlewareHandler } from 'hono';
import type { QueryEnv } from '../query-env.ts';

const slowMs = 1_000;

/** One wide line per request. Faults of ours and slow requests always show; the rest is on level debug. */
export function requestLog(logger: Logger): MiddlewareHandler<QueryEnv> {
  return async (c, next) => {
    const startedAtMs = performance.now();
    c.set('logFields', {});
    await next();
    const durationMs = Math.round(performance.now() - startedAtMs);
    const { aborted } = c.req.raw.signal; // nobody waits for the answer any more, so no failure of it matters
    const isFailure = c.res.status >= 500 && !aborted;
    const level = isFailure ? 'error' : durationMs >= slowMs ? 'info' : 'debug';
    if (!logger.isLevelEnabled(level)) return;
    const { method, path } = c.req;
    const requestId = c.get('requestId');
    logger[level]({ requestId, method, path, status: c.res.status, durationMs, ...c.get('logFields') }, 'request');
  };
}
