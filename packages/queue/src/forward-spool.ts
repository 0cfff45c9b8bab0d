import type { Redis } from 'ioredis';
import { z } from 'zod';
import { takeLease } from './lease.ts';

/** A request of collection that waits for the region that stores its events, as its sender sent it. */
const SpooledRequest = z.object({
  route: z.enum(['send', 'batch']),
  /** JSON text; of a batch that region's elements, null in the place of every other. */
  body: z.string(),
  /** Those that the other region needs. */
  headers: z.record(z.string(), z.string()),
  /** The client's: forgotten with the delivery. */
  address: z.string(),
  /** Unix ms. */
  receivedAtMs: z.number(),
  /** With which it is delivered, however often that is tried; '' = none, for what is never kept. */
  idempotencyKey: z.string(),
});
export type SpooledRequest = z.infer<typeof SpooledRequest>;

/** `request`: null when it cannot be read. `size`: its bytes. */
export type SpooledEntry = { id: string; request: SpooledRequest | null; size: number };

/**
 * What waits for a region. `sinceMs`: when the first in the line came to its collector, which what is left of a request
 * keeps; of one that cannot be read when it was put there, by Redis's clock; Unix ms; null where nothing waits.
 */
export type Waiting = { requests: number; bytes: number; sinceMs: number | null };

export type ForwardSpool = ReturnType<typeof createForwardSpool>;

/** Keeps an entry, unless all of the region's would have more bytes than they may. */
const keepScript = `
local size = tonumber(redis.call('GET', KEYS[2]) or '0') + #ARGV[1]
if size > tonumber(ARGV[2]) then return 0 end
redis.call('XADD', KEYS[1], '*', 'request', ARGV[1])
redis.call('SET', KEYS[2], size)
return 1`;

/**
 * What the list of one look may have, but for its first entry: the events of this region wait behind the answer, on the
 * same connection, and are given up after a second.
 */
export const listMaxBytes = 8_388_608;

/** Entries in their order, as long as they have no more bytes together; the first one whatever it has. */
const listScript = `
local found, bytes, start = {}, 0, ARGV[1]
while #found < tonumber(ARGV[3]) do
  local entry = redis.call('XRANGE', KEYS[1], start, ARGV[2], 'COUNT', 1)[1]
  if not entry then break end
  bytes = bytes + #entry[2][2]
  if #found > 0 and bytes > tonumber(ARGV[4]) then break end
  found[#found + 1] = entry
  start = '(' .. entry[1]
end
return found`;

/** Without the entry, which may have megabytes. */
const lastIdScript = `
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return last and last[1]`;

/** Takes an entry away and puts what is left of it, if anything, behind the others: once, however often it is said. */
const settleScript = `
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
local change = #ARGV[3] - tonumber(ARGV[2])
if ARGV[3] ~= '' then redis.call('XADD', KEYS[1], '*', 'request', ARGV[3]) end
redis.call('INCRBY', KEYS[2], change)
return 1`;

/**
 * Requests for other regions that could not be reached, kept in this region's Redis as durably as the event log, oldest
 * first.
 */
export function createForwardSpool(redis: Redis) {
  const key = (region: string) => `forward:{${region}}`;
  const sizeKey = (region: string) => `${key(region)}:size`;
  return {
    /** Resolves when it is kept; false when the region's requests would take more than `maxBytes`. */
    async keep(region: string, request: SpooledRequest, maxBytes: number): Promise<boolean> {
      const kept = await redis.eval(keepScript, 2, key(region), sizeKey(region), JSON.stringify(request), maxBytes);
      return kept === 1;
    },
    /**
     * The first that stand behind one id, up to another, with `listMaxBytes` at most unless one alone has more;
     * '-' = from the first one on, '+' = to the last.
     */
    async list(region: string, afterId: string, untilId: string, count: number): Promise<SpooledEntry[]> {
      const start = afterId === '-' ? '-' : `(${afterId}`;
      const found = await redis.eval(listScript, 1, key(region), start, untilId, count, listMaxBytes);
      return (found as [id: string, fields: string[]][]).map(toEntry);
    },
    /** Null where nothing waits. */
    async lastId(region: string): Promise<string | null> {
      return (await redis.eval(lastIdScript, 1, key(region))) as string | null;
    },
    /** Done with an entry, but for `rest`. Nothing happens when somebody else was done with it before. */
    async settle(region: string, { id, size }: SpooledEntry, rest: SpooledRequest | null): Promise<void> {
      const text = rest ? JSON.stringify(rest) : '';
      await redis.eval(settleScript, 2, key(region), sizeKey(region), id, size, text);
    },
    async waiting(region: string): Promise<Waiting> {
      const [requests, bytes, [first]] = await Promise.all([
        redis.xlen(key(region)),
        redis.get(sizeKey(region)),
        redis.xrange(key(region), '-', '+', 'COUNT', 1),
      ]);
      const sinceMs = first ? (toEntry(first).request?.receivedAtMs ?? Number.parseInt(first[0], 10)) : null;
      return { requests, bytes: Number(bytes ?? 0), sinceMs };
    },
    /** Whether `owner` may deliver the region's requests for the next `ms`; only one may at a time. */
    async lease(region: string, owner: string, ms: number): Promise<boolean> {
      return takeLease(redis, `${key(region)}:lease`, owner, ms);
    },
  };
}

function toEntry([id, [, text = '']]: [id: string, fields: string[]]): SpooledEntry {
  return { id, request: parseRequest(text), size: Buffer.byteLength(text) };
}

function parseRequest(text: string): SpooledRequest | null {
  try {
    return SpooledRequest.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
