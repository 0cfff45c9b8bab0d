import type { Context } from 'hono';
import type { QueryEnv } from '../query-env.ts';

/**
 * Which region a request is for: the pinned one of `/v1/<region>/…`, the home region of who asks under `/v1/…`, else
 * this one.
 */
type AddressedRegion = { kind: 'pinned'; region: string } | { kind: 'home' } | { kind: 'here' };

/** `target`: path and query as they were sent. `regions`: all there are; another segment is no region's. */
export function addressedRegion(target: string, regions: readonly string[]): AddressedRegion {
  const [, first, second = ''] = (target.split('?')[0] ?? '').split('/');
  if (first !== 'v1') return { kind: 'here' };
  return regions.includes(second) ? { kind: 'pinned', region: second } : { kind: 'home' };
}

/** Path and query of a request as they were sent, also where a proxy sent an absolute address. */
export function targetOf(c: Context<QueryEnv>): string {
  const sent = c.env?.incoming?.url ?? c.req.url;
  if (sent.startsWith('/')) return sent;
  const start = sent.indexOf('/', sent.indexOf('://') + 3);
  return start === -1 ? '/' : sent.slice(start);
}
