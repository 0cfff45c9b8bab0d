import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { consumerGroup, eventsKeys } from './log-keys.ts';

const pauseMs = 250;

/** The last entry of every stream that a worker had been given at some moment, by the stream's key. */
export type LogMark = ReadonlyMap<string, string>;

/**
 * Up to where the log is handed out to workers now. What waits behind that, such as an import of years, is not waited
 * for.
 */
export async function getLogMark(redis: Redis, partitions: number): Promise<LogMark> {
  const lastIds = new Map<string, string>();
  for (const stream of eventsKeys(partitions)) lastIds.set(stream, await lastHandedOut(redis, stream));
  return lastIds;
}

async function lastHandedOut(redis: Redis, stream: string): Promise<string> {
  if ((await redis.exists(stream)) === 0) return '0-0';
  const groups = (await redis.xinfo('GROUPS', stream)) as unknown[][]; // names and values of each
  const workers = groups.find(([, name]) => name === consumerGroup);
  return workers ? String(workers[workers.indexOf('last-delivered-id') + 1]) : '0-0';
}

/**
 * Resolves when what workers have in hand now has left the log: it is whole in every rollup then, also where another
 * worker had to end it.
 */
export async function untilHandedOutIsStored(redis: Redis, partitions: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const mark = await getLogMark(redis, partitions);
  while (!(await isConsumedUpTo(redis, mark))) await delay(pauseMs, undefined, { signal });
}

/** Whether everything up to the mark has left the log: it is stored, removed or a dead letter. */
export async function isConsumedUpTo(redis: Redis, lastIds: LogMark): Promise<boolean> {
  for (const [stream, id] of lastIds) {
    const remaining = await redis.xrange(stream, '-', id, 'COUNT', 1);
    if (remaining.length > 0) return false;
  }
  return true;
}
