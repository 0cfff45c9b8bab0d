import type { Redis } from 'ioredis';
import { entryEventCount } from './log-entry.ts';
import { eventCountsKey, eventsKeys } from './log-keys.ts';

/**
 * What became of the events of a region since its Redis is there. Counted in the same atomic step as what is counted,
 * so that always accepted = queued + stored + deadLettered + removed + dropped; also identify and performance events
 * count.
 */
export type EventCounts = {
  accepted: number;
  /** In the log now. */
  queued: number;
  stored: number;
  /** Among the dead letters now. */
  deadLettered: number;
  /** Not stored because their website was deleted or reset. */
  removed: number;
  /** Dead letters that an operator gave up. */
  dropped: number;
};

const fields = ['accepted', 'queued', 'stored', 'dead-lettered', 'removed', 'dropped'] as const;
const scanEntries = 200;

export async function readEventCounts(redis: Redis): Promise<EventCounts> {
  const counts = (await redis.hmget(eventCountsKey, ...fields)).map(Number);
  const [accepted = 0, queued = 0, stored = 0, deadLettered = 0, removed = 0, dropped = 0] = counts;
  return { accepted, queued, stored, deadLettered, removed, dropped };
}

/** Accepted events that are neither queued nor have become anything; 0 unless something is wrong. */
export function unaccountedEvents({ accepted, queued, stored, deadLettered, removed, dropped }: EventCounts): number {
  return accepted - queued - stored - deadLettered - removed - dropped;
}

/** Counts the events in the log themselves. Reads the whole log: for a check by hand, not for a metric. */
export async function countQueued(redis: Redis, partitions: number): Promise<number> {
  let events = 0;
  for (const stream of eventsKeys(partitions)) {
    for (let from = '-'; ; ) {
      const entries = await redis.xrangeBuffer(stream, from, '+', 'COUNT', scanEntries);
      for (const [, values] of entries) events += entryEventCount(values);
      const last = entries.at(-1);
      if (!last || entries.length < scanEntries) break;
      from = `(${last[0]}`;
    }
  }
  return events;
}
