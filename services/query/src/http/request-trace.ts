import { runInSpan } from '@meridian/runtime/tracing';
import type { MiddlewareHandler } from 'hono';
import type { QueryEnv } from '../query-env.ts';
import { isClientGone } from './node-answer.ts';
import { routeOf } from './request-log.ts';

/** Makes every request a span, a part of the caller's trace if its headers name one. */
export function requestTrace(): MiddlewareHandler<QueryEnv> {
  return (c, next) =>
    runInSpan({ kind: 'server', headers: () => c.req.header() }, next, () => {
      const { method, route } = routeOf(c);
      const { status } = c.res;
      return {
        name: `${method} ${route}`,
        attributes: { 'http.request.method': c.req.method, 'http.route': route, 'http.response.status_code': status },
        failed: status >= 500 && !isClientGone(c) ? String(status) : undefined,
      };
    });
}
