import { randomUUID } from 'node:crypto';
import { requestIdPattern } from '@meridian/contract/ids';
import type { MiddlewareHandler } from 'hono';
import type { QueryEnv } from '../query-env.ts';

/** Takes over the client's `x-request-id` when it is usable, makes one otherwise, and returns it on every answer. */
export function requestId(): MiddlewareHandler<QueryEnv> {
  return async (c, next) => {
    const given = c.req.header('x-request-id');
    const id = given !== undefined && requestIdPattern.test(given) ? given : randomUUID();
    c.set('requestId', id);
    c.header('x-request-id', id);
    await next();
  };
}
