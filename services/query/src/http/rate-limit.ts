import { PeerError } from '@meridian/peers/peers';
import { ApiError } from '@meridian/runtime/http/api-error';
import type { MiddlewareHandler } from 'hono';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Caller, QueryDeps, QueryEnv } from '../query-env.ts';
import { setHeader } from './node-answer.ts';

const limit = 50;
const windowMs = 15_000;

/**
 * Counts one request of a key unless its window is full; a refused request is not counted. The window is the life of
 * the counter: it starts with the first request and ends on Redis's clock. Returns { allowed, remaining, ms to the end
 * }.
 */
const takeScript = `
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used >= tonumber(ARGV[1]) then return { 0, 0, redis.call('PTTL', KEYS[1]) } end
if used == 0 then redis.call('SET', KEYS[1], 1, 'PX', ARGV[2]) else redis.call('INCR', KEYS[1]) end
return { 1, ARGV[1] - used - 1, redis.call('PTTL', KEYS[1]) }`;

/** How long the key's home region is waited for. */
const homeAnswerMaxMs = 3_000;

/** A key's window: whether the request still fits, how many more do, and when it ends. */
const RateWindow = z.object({ allowed: z.boolean(), remaining: z.number(), resetMs: z.number() });
type RateWindow = z.infer<typeof RateWindow>;

type RateLimitDeps = Pick<QueryDeps, 'redis' | 'peers' | 'logger' | 'counts'>;

/**
 * 50 requests per API key in 15 s, whatever process, address, prefix or region they come by (docs/semantics.md "Rate
 * limit"): they are counted in the key's home region. While that cannot be reached they are counted here.
 */
export function rateLimit(deps: RateLimitDeps): MiddlewareHandler<QueryEnv> {
  const { logger, counts } = deps;
  return async (c, next) => {
    const caller: Caller | undefined = c.get('caller');
    if (caller?.credential.kind !== 'api-key') return next();
    const { credential } = caller;
    const window = await take(deps, caller.homeRegion, credential.keyId).catch((error: unknown) => {
      // Served all the same: an outage of the counter must not be one of the API.
      counts.rateLimitSkipped++;
      logger.warn({ err: error, keyId: credential.keyId }, 'rate limit not counted');
      return null;
    });
    if (window === null) return next();
    const resetSeconds = String(Math.max(1, Math.ceil(window.resetMs / 1_000)));
    setHeader(c, 'ratelimit-limit', String(limit));
    setHeader(c, 'ratelimit-remaining', String(window.remaining));
    setHeader(c, 'ratelimit-reset', resetSeconds);
    if (window.allowed) return next();
    counts.rateLimited++;
    throw new ApiError('rate-limited', `At most ${limit} requests in ${windowMs / 1_000} seconds.`, {
      headers: { 'retry-after': resetSeconds },
    });
  };
}

async function take(deps: RateLimitDeps, homeRegion: string, keyId: string): Promise<RateWindow> {
  const { peers, redis, logger, counts } = deps;
  if (!peers.has(homeRegion)) return takeFromWindow(redis, keyId);
  try {
    return await takeAtHome(peers, homeRegion, keyId);
  } catch (err) {
    counts.rateLimitAway++;
    logger.warn({ err, keyId, homeRegion }, 'rate limit not counted in the home region');
    return takeFromWindow(redis, keyId);
  }
}

async function takeAtHome(peers: QueryDeps['peers'], homeRegion: string, keyId: string): Promise<RateWindow> {
  const path = `/peer/rate-limit/${keyId}`;
  const claim = { address: '', ageMs: 0 };
  const request = { method: 'POST', path, headers: {}, claim, answerMaxMs: homeAnswerMaxMs };
  const answer = await peers.askWhole(homeRegion, request);
  if (answer.status !== 200) throw new PeerError(`Region ${homeRegion} answered ${answer.status}`);
  return RateWindow.parse(JSON.parse(answer.body.toString()));
}

/** Counts one request of a key in this region. */
export async function takeFromWindow(redis: Redis, keyId: string): Promise<RateWindow> {
  const reply = await redis.eval(takeScript, 1, `ratelimit:{${keyId}}`, limit, windowMs);
  const [allowed, remaining, resetMs] = reply as [number, number, number];
  return { allowed: allowed === 1, remaining, resetMs };
}
