import { createRequestIds } from '@meridian/runtime/http/request-id';
import type { MiddlewareHandler } from 'hono';
import type { QueryEnv } from '../query-env.ts';
import { setHeader } from './node-answer.ts';

/** Takes over the client's `x-request-id` when it is usable, makes one otherwise, and returns it on every answer. */
export function requestId(): MiddlewareHandler<QueryEnv> {
  const idOf = createRequestIds();
  return async (c, next) => {
    const id = idOf(c.req.header('x-request-id'));
    c.set('requestId', id);
    setHeader(c, 'x-request-id', id);
    await next();
  };
}
