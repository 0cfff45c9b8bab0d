import type { Redis } from 'ioredis';
import { eventsKeys } from './log-keys.ts';

/** The last entry of every stream at some moment, by the stream's key. */
export type LogMark = { lastIds: Map<string, string> };

/** Where the log ends now. */
export async function getLogMark(redis: Redis, partitions: number): Promise<LogMark> {
  const lastIds: LogMark['lastIds'] = new Map();
  for (const stream of eventsKeys(partitions)) {
    const [[id] = ['0-0']] = await redis.xrevrange(stream, '+', '-', 'COUNT', 1);
    lastIds.set(stream, id);
  }
  return { lastIds };
}

/** Whether everything up to the mark has left the log: it is stored, removed or a dead letter. */
export async function isConsumedUpTo(redis: Redis, { lastIds }: LogMark): Promise<boolean> {
  for (const [stream, id] of lastIds) {
    const remaining = await redis.xrange(stream, '-', id, 'COUNT', 1);
    if (remaining.length > 0) return false;
  }
  return true;
}
