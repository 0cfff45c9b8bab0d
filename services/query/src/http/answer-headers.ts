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
 * origin may read it (no cookie is ever used, so no credentials are allowed).
 */
export function headersOfAll(region: string): Record<string, string> {
  return {
    'x-region': region,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': exposedHeaders,
  };
}

/** Sets `headersOfAll`, and answers preflights itself. */
export function answerHeaders(region: string): MiddlewareHandler<QueryEnv> {
  const headers = Object.entries(headersOfAll(region));
  return async (c, next) => {
    for (const [name, value] of headers) setHeader(c, name, value);
    if (c.req.method === 'OPTIONS') return c.body(null, 204, preflightHeaders);
    await next();
  };
}
