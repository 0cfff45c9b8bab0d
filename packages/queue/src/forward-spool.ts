import type { Redis } from 'ioredis';
import { z } from 'zod';

/** A request of collection that waits for the region that stores its events. Body and headers are what the sender sent. */
const SpooledRequest = z.object({
  route: z.enum(['send', 'batch']),
  /** JSON text. */
  body: z.string(),
  headers: z.record(z.string(), z.string()),
  /** The client's. */
  address: z.string(),
  /** Unix ms. */
  receivedAtMs: z.number(),
  /** With which it is delivered, however often that is tried. */
  idempotencyKey: z.string(),
});
export type SpooledRequest = z.infer<typeof SpooledRequest>;

export type ForwardSpool = ReturnType<typeof createForwardSpool>;

/** Takes the lease when nobody has it, and prolongs one's own. */
const leaseScript = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

/** Requests for other regions that could not be reached, kept in this region's Redis as durably as the event log, oldest first. */
export function createForwardSpool(redis: Redis) {
  const key = (region: string) => `forward:{${region}}`;
  return {
    /** Resolves when it is kept. */
    async keep(region: string, request: SpooledRequest): Promise<void> {
      await redis.xadd(key(region), '*', 'request', JSON.stringify(request));
    },
    /** The oldest one; null when none waits. */
    async oldest(region: string): Promise<{ id: string; request: SpooledRequest } | null> {
      const [entry] = await redis.xrange(key(region), '-', '+', 'COUNT', 1);
      return entry ? { id: entry[0], request: SpooledRequest.parse(JSON.parse(entry[1][1] ?? '')) } : null;
    },
    async remove(region: string, id: string): Promise<void> {
      await redis.xdel(key(region), id);
    },
    /** How many requests wait. */
    waiting: (region: string): Promise<number> => redis.xlen(key(region)),
    /** Whether `owner` may deliver the region's requests for the next `ms`; only one may at a time. */
    async lease(region: string, owner: string, ms: number): Promise<boolean> {
      return (await redis.eval(leaseScript, 1, `${key(region)}:lease`, owner, ms)) === 1;
    },
  };
}
