import type { MiddlewareHandler } from 'hono';
import type { QueryEnv } from '../query-env.ts';

const preflightHeaders = {
  'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
  'access-control-allow-headers': 'authorization, content-type, x-umami-api-key, x-request-id',
  'access-control-max-age': '86400',
};
const exposedHeaders = [
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'retry-after',
  'server-timing',
  'x-region',
  'x-request-id',
].join(', ');

/**
 * Headers of every answer, errors included: who served it, that nobody may keep it or guess its type, and that any
 * origin may read it (no cookie is ever used, so no credentials are allowed). Answers preflights itself.
 */
export function answerHeaders(region: string): MiddlewareHandler<QueryEnv> {
  return async (c, next) => {
    c.header('x-region', region);
    c.header('cache-control', 'no-store');
    c.header('x-content-type-options', 'nosniff');
    c.header('access-control-allow-origin', '*');
    c.header('access-control-expose-headers', exposedHeaders);
    if (c.req.method === 'OPTIONS') return c.body(null, 204, preflightHeaders);
    await next();
  };
}
