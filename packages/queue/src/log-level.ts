import type { Redis } from 'ioredis';
import { eventsKeys, type Lane } from './log-keys.ts';
import { readRedisClock } from './read-clock.ts';

/**
 * Why no more events may be taken: the log's own size, the use of Redis's memory as a whole, or the wait of the oldest
 * event.
 */
export const overflowReasons = ['bytes', 'memory', 'age'] as const;
export type OverflowReason = (typeof overflowReasons)[number];

/** The reason, null while there is room: as it was when last looked at. */
export type LogOverflow = () => OverflowReason | null;

const defaultLookEveryMs = 500;
/**
 * Of Redis's limit. What is above is room for the workers, for visits and idempotency keys of events that are taken
 * already.
 */
const memoryShare = 0.75;

/**
 * Watches the log from the producer's end, as long as the process lives. It is full when it takes more than `maxBytes`
 * itself, when Redis with all that is in it uses three quarters of its `maxmemory`, or when the oldest event has waited
 * for `maxAgeMs`, but for backfill, which must not stop what is live. That is far below the point at which Redis
 * refuses: there it could neither take events nor give the workers room to drain it. Redis that cannot be asked says
 * nothing new: appends fail by themselves then. `redis`: a connection that fails fast.
 */
export function watchLogLevel({
  redis,
  partitions,
  maxBytes,
  maxAgeMs,
  lookEveryMs = defaultLookEveryMs,
  now = Date.now,
}: {
  redis: Redis;
  partitions: number;
  maxBytes?: number | undefined;
  maxAgeMs: number;
  lookEveryMs?: number;
  now?: () => number;
}): LogOverflow {
  let overflow: OverflowReason | null = null;
  let isLooking = false;

  async function look(): Promise<void> {
    if (isLooking || redis.status !== 'ready') return;
    isLooking = true;
    try {
      overflow = await findReason();
    } catch {
      // Stays as it was.
    }
    isLooking = false;
  }

  async function findReason(): Promise<OverflowReason | null> {
    if (maxBytes !== undefined && (await logBytes(redis, partitions)) > maxBytes) return 'bytes';
    if (await isOverMemory(redis)) return 'memory';
    return now() - (await oldestEntryMs(redis, eventsKeys(partitions, ['live']), now())) > maxAgeMs ? 'age' : null;
  }

  setInterval(look, lookEveryMs).unref();
  redis.on('ready', look);
  void look();
  return () => overflow;
}

async function isOverMemory(redis: Redis): Promise<boolean> {
  const memory = await redis.info('memory');
  const figure = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(memory)?.[1] ?? 0);
  const limit = figure('maxmemory');
  return limit > 0 && figure('used_memory') > limit * memoryShare;
}

/**
 * The memory of the log in Redis, estimated. What a stream without entries keeps (its group and consumers) is not
 * counted.
 */
export async function logBytes(redis: Redis, partitions: number): Promise<number> {
  const sizes = await Promise.all(
    eventsKeys(partitions).map(async (key) => {
      const [entries, bytes] = await Promise.all([redis.xlen(key), redis.memory('USAGE', key)]);
      return entries > 0 ? (bytes ?? 0) : 0;
    }),
  );
  return sizes.reduce((total, size) => total + size, 0);
}

/** How long the oldest event in the log, or in these lanes, has waited, ms by Redis's clock; 0: there is none. */
export async function logLagMs(redis: Redis, partitions: number, of?: readonly Lane[]): Promise<number> {
  const nowMs = (await readRedisClock(redis)).getTime();
  return nowMs - (await oldestEntryMs(redis, eventsKeys(partitions, of), nowMs));
}

/** When the oldest event of the streams was put there, Unix ms by Redis's clock; `nowMs` when they are empty. */
async function oldestEntryMs(redis: Redis, streams: readonly string[], nowMs: number): Promise<number> {
  const firsts = await Promise.all(streams.map((stream) => redis.xrangeBuffer(stream, '-', '+', 'COUNT', 1)));
  return Math.min(nowMs, ...firsts.flat().map(([id]) => Number.parseInt(id.toString(), 10)));
}
