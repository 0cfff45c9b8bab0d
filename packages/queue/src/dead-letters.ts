import type { EventRow } from '@meridian/warehouse/event-row';
import type { Redis } from 'ioredis';
import { dropScript, replayScript } from './dead-letter-scripts.ts';
import { toReplayedEntry } from './event-entry.ts';
import { readLetter, type StoredLetter } from './letter.ts';
import { backfillAgeMs, deadLettersKey, eventCountsKey, eventsKey, partitionOf } from './log-keys.ts';
import { createRedisScript } from './redis-script.ts';
import { uuidV7TimeMs } from './uuid-v7.ts';
import { forgetVisits } from './visit-state.ts';

const pageSize = 100;
/** Redis refuses ids beyond. */
const streamIdPartMax = 2n ** 64n - 1n;

export type ReplayOutcome = { ok: true } | { ok: false; reason: string };

/** The operator's hand on the events that could not be stored. */
export type DeadLetters = ReturnType<typeof createDeadLetters>;

/**
 * The dead letters of a region. An id is `<partition>:<stream id>`, such as `2:1781085600000-0`.
 * `partitions`: as the workers have it; letters in streams beyond are not seen.
 */
export function createDeadLetters({
  redis,
  partitions,
  now = Date.now,
}: {
  redis: Redis;
  partitions: number;
  now?: () => number;
}) {
  const runReplay = createRedisScript(redis, replayScript);
  const runDrop = createRedisScript(redis, dropScript);

  async function readPage(partition: number, from: string, to: string, count: number): Promise<StoredLetter[]> {
    const entries = await redis.xrange(deadLettersKey(partition), from, to, 'COUNT', count);
    return entries.map(([streamId, fields]) => readLetter(partition, streamId, fields));
  }

  /** All that are there now, some at a time; what comes while they are walked through is left out. */
  async function* pages(): AsyncGenerator<StoredLetter[]> {
    const lasts: (string | undefined)[] = [];
    for (let partition = 0; partition < partitions; partition++) {
      const [last] = await redis.xrevrange(deadLettersKey(partition), '+', '-', 'COUNT', 1);
      lasts.push(last?.[0]);
    }
    for (const [partition, last] of lasts.entries()) {
      if (last === undefined) continue;
      for (let from = '-'; ; ) {
        const page = await readPage(partition, from, last, pageSize);
        if (page.length > 0) yield page;
        const end = page.at(-1);
        if (!end || page.length < pageSize) break;
        from = `(${end.streamId}`;
      }
    }
  }

  function streamOf({ websiteId, createdAtMs }: EventRow): string {
    return eventsKey(partitionOf(websiteId, partitions), createdAtMs < now() - backfillAgeMs ? 'backfill' : 'live');
  }

  async function end(letter: StoredLetter, count: 'dropped' | 'removed'): Promise<boolean> {
    const keys = [eventCountsKey, deadLettersKey(letter.partition)];
    return (await runDrop(keys, [letter.streamId, letter.eventCount, count])) === 1;
  }

  return {
    pages,

    /** How many there are. */
    async count(): Promise<number> {
      let count = 0;
      for (let partition = 0; partition < partitions; partition++) count += await redis.xlen(deadLettersKey(partition));
      return count;
    },

    /** The oldest ones, in the order in which they became dead letters. */
    async list(limit: number): Promise<StoredLetter[]> {
      const letters: StoredLetter[] = [];
      for (let partition = 0; partition < partitions; partition++)
        letters.push(...(await readPage(partition, '-', '+', limit)));
      return letters.sort(byTime).slice(0, limit);
    },

    async find(id: string): Promise<StoredLetter | null> {
      const [, partition, streamId] = /^(\d{1,3}):(\d+-\d+)$/.exec(id) ?? [];
      if (!streamId || Number(partition) >= partitions) return null;
      if (streamId.split('-').some((part) => BigInt(part) > streamIdPartMax)) return null;
      const [letter] = await readPage(Number(partition), streamId, streamId, 1);
      return letter ?? null;
    },

    /**
     * Puts what the letter holds back into the log, in one step with the end of the letter: an event under its own id
     * and in its own visit, marked so that a worker first asks whether it is stored; an entry that could not be read as
     * it was, as backfill, since nobody knows how old its events are.
     */
    async replay(letter: StoredLetter): Promise<ReplayOutcome> {
      const { content, partition } = letter;
      if (content.kind === 'damaged') return { ok: false, reason: content.why };
      const isEvent = content.kind === 'event';
      const stream = isEvent ? streamOf(content.event) : eventsKey(partition, 'backfill');
      const fields = isEvent ? toReplayedEntry(content.event) : content.fields;
      const keys = [eventCountsKey, deadLettersKey(partition), stream];
      const isDone = await runReplay(keys, [letter.streamId, letter.eventCount, ...fields]);
      return isDone === 1 ? { ok: true } : { ok: false, reason: 'is gone' };
    },

    /** Gives up what the letter holds. False: the letter was gone already. */
    drop: (letter: StoredLetter): Promise<boolean> => end(letter, 'dropped'),

    /**
     * Ends the letters with events of a website that is removed, and forgets their visits; with `before` only what was
     * left before then. May be repeated.
     */
    async removeWebsite(websiteId: string, before?: Date): Promise<void> {
      const beforeMs = before?.getTime() ?? Number.POSITIVE_INFINITY;
      for await (const page of pages()) {
        for (const letter of page) {
          if (letter.content.kind !== 'event') continue;
          const { event } = letter.content;
          if (event.websiteId !== websiteId || uuidV7TimeMs(event.eventId) >= beforeMs) continue;
          await forgetVisits(redis, partitions, [event], before);
          await end(letter, 'removed');
        }
      }
    },
  };
}

const byTime = (a: StoredLetter, b: StoredLetter): number =>
  Number.parseInt(a.streamId, 10) - Number.parseInt(b.streamId, 10) || a.partition - b.partition;
