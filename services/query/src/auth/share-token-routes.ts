import { ApiError } from '@meridian/runtime/http/api-error';
import type { Context } from 'hono';
import { routeOf } from '../http/request-log.ts';
import type { QueryEnv, ShareReader } from '../query-env.ts';

/**
 * All that a share link may ask, by the patterns of the routes: whatever is not named here is refused, a new route too.
 */
const readable = new Set([
  'GET /api/me',
  'GET /api/websites/:websiteId',
  'GET /api/websites/:websiteId/stats',
  'GET /api/websites/:websiteId/pageviews',
  'GET /api/websites/:websiteId/metrics',
  'GET /api/websites/:websiteId/metrics/expanded',
  'GET /api/websites/:websiteId/active',
]);
/** What it may ask unless its parameters say `events: false`. */
const readableWithEvents = new Set(['GET /api/websites/:websiteId/events']);

/** @throws ApiError 403 where the link may not ask what this request asks */
export function assertReadableByShare(c: Context<QueryEnv>, { share }: ShareReader): void {
  const { method, route } = routeOf(c);
  const asked = `${method} ${route}`;
  if (readable.has(asked)) return;
  if (readableWithEvents.has(asked) && share.parameters.events !== false) return;
  throw new ApiError('forbidden', 'This is not available with a share link.');
}
