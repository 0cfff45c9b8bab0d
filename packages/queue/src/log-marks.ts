import type { Redis } from 'ioredis';
import { eventsKey } from './log-keys.ts';

/** The last entry of every partition at some moment. */
export type LogMark = { lastIds: string[] };

/** Where the log ends now. */
export async function getLogMark(redis: Redis, partitions: number): Promise<LogMark> {
  const lastIds: string[] = [];
  for (let partition = 0; partition < partitions; partition++) {
    const [[id] = ['0-0']] = await redis.xrevrange(eventsKey(partition), '+', '-', 'COUNT', 1);
    lastIds.push(id);
  }
  return { lastIds };
}

/** Whether everything up to the mark has left the log: it is stored, removed or a dead letter. */
export async function isConsumedUpTo(redis: Redis, { lastIds }: LogMark): Promise<boolean> {
  for (const [partition, id] of lastIds.entries()) {
    const remaining = await redis.xrange(eventsKey(partition), '-', id, 'COUNT', 1);
    if (remaining.length > 0) return false;
  }
  return true;
}
