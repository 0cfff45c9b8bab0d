import type { MiddlewareHandler } from 'hono';
import type { QueryEnv } from '../query-env.ts';
import { setHeader } from './node-answer.ts';

const preflightHeaders = {
  'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
  'access-control-allow-headers':
    'authorization, cache-control, content-type, x-umami-api-key, x-umami-share-token, x-umami-share-context, x-request-id',
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
    setHeader(c, 'x-region', region);
    setHeader(c, 'cache-control', 'no-store');
    setHeader(c, 'x-content-type-options', 'nosniff');
    setHeader(c, 'access-control-allow-origin', '*');
    setHeader(c, 'access-control-expose-headers', exposedHeaders);
    if (c.req.method === 'OPTIONS') return c.body(null, 204, preflightHeaders);
    await next();
  };
}
