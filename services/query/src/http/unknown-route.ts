import { ApiError } from '@meridian/runtime/http/api-error';
import type { Hono, NotFoundHandler } from 'hono';
import type { QueryEnv } from '../query-env.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** 405 with `Allow` where the path has a route under another method, else 404. */
export function unknownRoute(app: Hono<QueryEnv>): NotFoundHandler<QueryEnv> {
  return (c) => {
    const allowed = methods.filter((method) => hasRoute(app, method, c.req.path));
    if (allowed.length === 0) throw new ApiError('not-found', 'Not found');
    if (allowed.includes('GET')) allowed.push('HEAD');
    throw new ApiError('method-not-allowed', 'Method not allowed', { headers: { allow: allowed.join(', ') } });
  };
}

/** Middlewares are registered for ALL methods, routes for one. */
function hasRoute(app: Hono<QueryEnv>, method: string, path: string): boolean {
  return app.router.match(method, path)[0].some(([[, route]]) => route.method === method);
}
