import type { Redis } from 'ioredis';
import { eventsKey } from './log-keys.ts';

/** Why no more events may be taken, null while there is room: as it was when last looked at. */
export type LogOverflow = () => 'bytes' | 'age' | null;

const defaultLookEveryMs = 500;
/** Of Redis's limit. What is above is room for the workers, for visits and idempotency keys of events that are taken already. */
const memoryShare = 0.75;

/**
 * Watches the log from the producer's end, as long as the process lives. It is full when Redis uses three quarters of its `maxmemory`, or `maxBytes`, where that is less: the
 * log and the visits are nearly all that is in it; or when its oldest event has waited for `maxAgeMs`. Both are far below the
 * point at which Redis refuses: there it could neither take events nor give the workers room to drain it.
 * Redis that cannot be asked says nothing new: appends fail by themselves then. `redis`: a connection that fails fast.
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
  let overflow: 'bytes' | 'age' | null = null;
  let isLooking = false;

  async function look(): Promise<void> {
    if (isLooking || redis.status !== 'ready') return;
    isLooking = true;
    try {
      if (await isOverBytes(redis, maxBytes)) overflow = 'bytes';
      else overflow = now() - (await oldestEntryMs(redis, partitions, now())) > maxAgeMs ? 'age' : null;
    } catch {
      // Stays as it was.
    }
    isLooking = false;
  }

  setInterval(look, lookEveryMs).unref();
  redis.on('ready', look);
  void look();
  return () => overflow;
}

async function isOverBytes(redis: Redis, maxBytes = Number.POSITIVE_INFINITY): Promise<boolean> {
  const memory = await redis.info('memory');
  const figure = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(memory)?.[1] ?? 0);
  const limit = figure('maxmemory');
  return figure('used_memory') > Math.min(maxBytes, limit === 0 ? Number.POSITIVE_INFINITY : limit * memoryShare);
}

/** When the oldest event that is in the log was put there, Unix ms by Redis's clock; `nowMs` when the log is empty. */
export async function oldestEntryMs(redis: Redis, partitions: number, nowMs: number): Promise<number> {
  const firsts = await Promise.all(
    Array.from({ length: partitions }, (_, partition) =>
      redis.xrangeBuffer(eventsKey(partition), '-', '+', 'COUNT', 1),
    ),
  );
  return Math.min(nowMs, ...firsts.flat().map(([id]) => Number.parseInt(id.toString(), 10)));
}
