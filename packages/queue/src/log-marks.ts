import type { Redis } from 'ioredis';
import { consumerGroup, eventsKeys } from './log-keys.ts';

/** The last entry of every stream that a worker had been given at some moment, by the stream's key. */
export type LogMark = { lastIds: Map<string, string> };

/**
 * Up to where the log is handed out to workers now. What waits behind that, such as an import of years, is not waited
 * for.
 */
export async function getLogMark(redis: Redis, partitions: number): Promise<LogMark> {
  const lastIds: LogMark['lastIds'] = new Map();
  for (const stream of eventsKeys(partitions)) lastIds.set(stream, await lastHandedOut(redis, stream));
  return { lastIds };
}

async function lastHandedOut(redis: Redis, stream: string): Promise<string> {
  if ((await redis.exists(stream)) === 0) return '0-0';
  const groups = (await redis.xinfo('GROUPS', stream)) as unknown[][]; // names and values of each
  const workers = groups.find(([, name]) => name === consumerGroup);
  return workers ? String(workers[workers.indexOf('last-delivered-id') + 1]) : '0-0';
}

/** Whether everything up to the mark has left the log: it is stored, removed or a dead letter. */
export async function isConsumedUpTo(redis: Redis, { lastIds }: LogMark): Promise<boolean> {
  for (const [stream, id] of lastIds) {
    const remaining = await redis.xrange(stream, '-', id, 'COUNT', 1);
    if (remaining.length > 0) return false;
  }
  return true;
}
