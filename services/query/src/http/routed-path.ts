import type { QueryConfig } from '../query-env.ts';

/**
 * The path that the router sees: `/api/websites` for `/api/websites`, `/v1/websites` and `/v1/us/websites` alike,
 * without a trailing slash. Nothing is decoded or normalised, so an odd spelling meets no route; one with dot segments,
 * of which a URL has none any more, is refused by `servePinnedRegion`. Other paths stay as they are; on cloud nothing
 * is served under `/api`. The segment of another region stays in place and meets no route: `servePinnedRegion` hands it
 * on.
 */
export function routedPath(url: string, { mode, region }: Pick<QueryConfig, 'mode' | 'region'>): string {
  const path = pathOf(url);
  if (path === '/api' || path.startsWith('/api/')) return mode === 'cloud' ? `/not-served${path}` : path;
  if (path !== '/v1' && !path.startsWith('/v1/')) return path;
  const rest = path.slice('/v1'.length);
  const pinned = `/${region}`;
  return `/api${rest === pinned || rest.startsWith(`${pinned}/`) ? rest.slice(pinned.length) : rest}`;
}

/** Path of an absolute URL as it was sent, without query and without one trailing slash. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  if (start === -1) return '/';
  const end = url.slice(start).search(/[?#]/);
  const path = end === -1 ? url.slice(start) : url.slice(start, start + end);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
