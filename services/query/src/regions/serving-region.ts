import { peerHeader } from '@meridian/peers/peer-claim';
import { ApiError } from '@meridian/runtime/http/api-error';
import type { Context, MiddlewareHandler } from 'hono';
import { routeOf, unmatched } from '../http/request-log.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { addressedRegion, targetOf } from './addressed-region.ts';
import { createHandOn } from './hand-on.ts';

type RegionDeps = Pick<QueryDeps, 'peers' | 'config' | 'registry' | 'logger'>;

const toldEveryMs = 60_000;
/** Paths of collection, which no query process serves. */
const collection = /^\/(api|v1|v1\/[^/?]+)\/(send|batch)\/?(\?|$)/;
/** `.` and `..` as parts of a path: what the router sees is made without them, and what is handed on has them. */
const dotSegment = /^[^?#]*\/(\.|%2e){1,2}([/?#]|$)/i;

/**
 * Notes whether another region has handed the request on, and hands on what is pinned to another one. Before
 * authentication: that is theirs. A path with dot segments meets nothing. So do events that no collector takes (of an
 * unknown region) or that a wrong proxy brings: the collector of another region would believe that ours has seen them.
 */
export function servePinnedRegion(deps: RegionDeps & Pick<QueryDeps, 'counts'>): MiddlewareHandler<QueryEnv> {
  const { peers, counts, logger } = deps;
  const handOn = createHandOn(deps);
  let toldAtMs = Number.NEGATIVE_INFINITY;

  /** Anybody can send such a header, and so could fill the log. */
  function tellOfRefusal(): void {
    counts.peerClaimsRefused++;
    if (performance.now() - toldAtMs < toldEveryMs) return;
    toldAtMs = performance.now();
    logger.warn({ refused: counts.peerClaimsRefused }, 'refused: it cannot be told which region has handed it on');
  }

  return async (c, next) => {
    const target = targetOf(c);
    if (collection.test(target) || dotSegment.test(target)) throw new ApiError('not-found', 'Not found');
    const header = c.req.header(peerHeader);
    const claim = peers.claimOf({ method: c.req.method, path: target, header });
    c.set('peer', claim);
    if (claim === null) {
      tellOfRefusal();
      throw new ApiError('service-unavailable', 'It cannot be told which region has handed this request on.');
    }
    const addressed = addressedRegion(target, peers.regions);
    if (addressed.kind !== 'pinned') return next();
    return handOn(c, addressed.region, target);
  };
}

/**
 * Hands on what is addressed to no region, and whose asker lives in another one, as if it were pinned to that; for a
 * share link that is its website's region. Behind authentication and before the rate limit, which is that region's
 * then.
 */
export function serveHomeRegion(deps: RegionDeps): MiddlewareHandler<QueryEnv> {
  const { registry } = deps;
  const serveAtHome = createServeAtHome(deps);
  return async (c, next) => {
    const reader = c.get('reader');
    const isLink = 'share' in reader;
    const home = isLink ? (await registry.findWebsite(reader.share.websiteId))?.region : reader.homeRegion;
    const answer = home === undefined ? null : await serveAtHome(c, home, isLink);
    return answer ?? next();
  };
}

/**
 * Gives the answer of `home` to a request that no address leads elsewhere; null where it is served here. A link is one
 * website's, so that under `/api` too only that website's region can serve it.
 */
export function createServeAtHome(deps: RegionDeps) {
  const { peers, config } = deps;
  const handOn = createHandOn(deps);
  return async (c: Context<QueryEnv>, home: string, isLink: boolean): Promise<Response | null> => {
    if (peers.regions.length === 0 || home === config.region) return null;
    const target = targetOf(c);
    const { kind } = addressedRegion(target, [config.region]);
    if (kind === 'pinned' || (kind === 'here' && !isLink)) return null;
    if (peers.has(home)) return handOn(c, home, kind === 'here' ? target : `/v1/${home}${target.slice('/v1'.length)}`);
    // What no region serves is unknown also to an account whose region is.
    if (routeOf(c).route === unmatched) return null;
    throw new ApiError('service-unavailable', `Region ${home} is not known here.`);
  };
}
