import { peerHeader } from '@meridian/peers/peer-claim';
import { ApiError } from '@meridian/runtime/http/api-error';
import type { Context, MiddlewareHandler } from 'hono';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { addressedRegion, targetOf } from './addressed-region.ts';
import { createHandOn } from './hand-on.ts';

type RegionDeps = Pick<QueryDeps, 'peers' | 'config' | 'registry'>;

/** Notes whether another region has handed the request on, and hands on what is pinned to another one. Before authentication: that is theirs. */
export function servePinnedRegion(deps: RegionDeps): MiddlewareHandler<QueryEnv> {
  const { peers } = deps;
  const handOn = createHandOn(deps);
  return async (c, next) => {
    const target = targetOf(c);
    const header = c.req.header(peerHeader);
    const claim = peers.claimOf({ method: c.req.method, path: target, header });
    if (claim === null)
      throw new ApiError('service-unavailable', 'It cannot be told which region has handed this request on.');
    c.set('peer', claim);
    const addressed = addressedRegion(target, peers.regions);
    if (addressed.kind !== 'pinned') return next();
    return handOn(c, addressed.region, target);
  };
}

/**
 * Hands on what is addressed to no region, and whose asker lives in another one, as if it were pinned to that; for a share link that is its
 * website's region. Behind authentication and before the rate limit, which is that region's then.
 */
export function serveHomeRegion(deps: RegionDeps): MiddlewareHandler<QueryEnv> {
  const { peers, config } = deps;
  const handOn = createHandOn(deps);
  return async (c, next) => {
    const target = targetOf(c);
    if (peers.regions.length === 0 || addressedRegion(target, [config.region]).kind !== 'home') return next();
    const home = await homeRegionOf(deps, c);
    if (home === null || home === config.region) return next();
    if (!peers.has(home)) throw new ApiError('service-unavailable', `Region ${home} is not known here.`);
    return handOn(c, home, `/v1/${home}${target.slice('/v1'.length)}`);
  };
}

async function homeRegionOf({ registry }: RegionDeps, c: Context<QueryEnv>): Promise<string | null> {
  const reader = c.get('reader');
  if (!('share' in reader)) return reader.homeRegion;
  return (await registry.findWebsite(reader.share.websiteId))?.region ?? null;
}
