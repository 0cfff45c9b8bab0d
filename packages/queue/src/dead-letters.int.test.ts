import { randomUUID } from 'node:crypto';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import type { EventRow } from '@meridian/warehouse/event-row';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createDeadLetters, type DeadLetters } from './dead-letters.ts';
import { countQueued, readEventCounts, unaccountedEvents } from './event-counts.ts';
import { createEventLog } from './event-log.ts';
import type { StoredLetter } from './letter.ts';
import type { LogBatch } from './log-batch.ts';
import { createLogConsumer, type LogConsumer } from './log-consumer.ts';
import { backfillAgeMs, deadLettersKey, eventsKey } from './log-keys.ts';
import { eventsOf, pendingEvent } from './test-events.ts';
import { connectProducer, connectWorker, patience, startOwnRedis } from './test-redis.ts';

const partitions = 3;
let redis: Redis;
let worker: LogConsumer;
let letters: DeadLetters;

beforeEach(async () => {
  const database = await createRedisDatabase();
  onTestFinished(database.drop);
  await connect(database.url);
});

async function connect(url: string): Promise<void> {
  redis = await connectProducer(url, patience.commandTimeout);
  const [own, waitingRedis] = [await connectWorker(url), await connectWorker(url)];
  for (const connection of [redis, own, waitingRedis]) onTestFinished(() => connection.disconnect());
  worker = createLogConsumer({ redis: own, waitingRedis, partitions, consumer: randomUUID(), reclaimIdleMs: 4_000 });
  letters = createDeadLetters({ redis, partitions });
}

async function getBatch(): Promise<LogBatch> {
  for (;;) {
    const batch = await worker.next({ eventsMax: 10_000, maxWaitMs: 50 });
    if (batch) return batch;
  }
}

/** Collects so many events, none of which can be stored. */
async function makeLetters(count: number): Promise<EventRow[]> {
  const log = createEventLog({ redis, partitions, appendMaxWaitMs: patience.appendMaxWaitMs });
  const placements = Array.from({ length: count }, (_, i) => {
    const place = { websiteId: randomUUID(), sessionId: randomUUID() };
    return { event: pendingEvent({ ...place, urlPath: `/${i} 👟`, type: 'custom', eventName: 'buy', cls: 0.5 }) };
  });
  await log.append({ placements });
  const batch = await getBatch();
  const events = eventsOf(batch.rows);
  await worker.commit(
    batch,
    events.map((event) => ({ event, reason: `too odd: ${event.urlPath}` })),
  );
  return events;
}

async function findOnly(): Promise<StoredLetter> {
  const [letter, ...more] = await letters.list(10);
  if (!letter || more.length > 0) throw new Error('not one letter');
  return letter;
}

/** The counts, which add up and are those of the streams. */
async function counts() {
  const counted = await readEventCounts(redis);
  expect(unaccountedEvents(counted)).toBe(0);
  expect(counted.queued).toBe(await countQueued(redis, partitions));
  return counted;
}

describe('a list', () => {
  test('has every letter with event, reason and time; each is found by its id', async () => {
    const events = await makeLetters(20);
    const listed = await letters.list(100);
    const byPath = (a: StoredLetter, b: StoredLetter) => a.reason.localeCompare(b.reason);
    expect(listed.toSorted(byPath).map(({ content }) => content)).toEqual(
      events.toSorted((a, b) => a.urlPath.localeCompare(b.urlPath)).map((event) => ({ kind: 'event', event })),
    );
    for (const letter of listed) {
      expect(letter).toMatchObject({ reason: expect.stringContaining('too odd'), time: expect.stringMatching(/Z$/) });
      expect(await letters.find(letter.id)).toEqual(letter);
    }
    expect(await letters.count()).toBe(20);
  });

  test('is limited to the oldest', async () => {
    const [first] = await makeLetters(1);
    await makeLetters(5);
    expect((await letters.list(1)).map(({ content }) => content)).toEqual([{ kind: 'event', event: first }]);
  });

  test('is walked through page by page, all of it and nothing that comes meanwhile', async () => {
    await makeLetters(450);
    const seen = new Set<string>();
    for await (const page of letters.pages()) {
      for (const { id } of page) seen.add(id);
      if (seen.size < 200) await makeLetters(1);
    }
    expect(seen.size).toBe(450);
  });

  test.each([
    '',
    '0',
    '0:',
    '0:1',
    '9:1-1',
    '-1:1-1',
    '0:1-1 ',
    '0:1-1',
    '0:*',
    '1e1:1-1',
    '0:99999999999999999999999-0',
    '0:1-18446744073709551616',
  ])('finds nothing by the id "%s"', async (id) => {
    expect(await letters.find(id)).toBeNull();
  });
});

describe('a replay', () => {
  test('brings the event back under its own id, in its own visit, and lets the worker ask whether it is stored', async () => {
    const [event] = await makeLetters(1);
    expect(await letters.replay(await findOnly())).toEqual({ ok: true });
    expect(await letters.count()).toBe(0);
    expect(await counts()).toMatchObject({ accepted: 1, queued: 1, deadLettered: 0 });
    const batch = await getBatch();
    expect(eventsOf(batch.rows)).toEqual([event]);
    expect(batch.mayBeStored).toBe(true);
    await worker.commit(batch, []);
    expect(await counts()).toMatchObject({ accepted: 1, stored: 1, queued: 0 });
  });

  test('of an event of long ago brings it back into the lane of backfill', async () => {
    const [event] = await makeLetters(1);
    const letter = await findOnly();
    if (!event) throw new Error('no event');
    const content = { kind: 'event', event: { ...event, createdAtMs: Date.now() - backfillAgeMs - 1 } } as const;
    expect(await letters.replay({ ...letter, content })).toEqual({ ok: true });
    const lengths = Array.from({ length: partitions }, (_, partition) => redis.xlen(eventsKey(partition, 'backfill')));
    expect((await Promise.all(lengths)).sort()).toEqual([0, 0, 1]);
  });

  test('of one letter that is made by many at once brings it back once', async () => {
    await makeLetters(1);
    const letter = await findOnly();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => letters.replay(letter)));
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
    expect((await getBatch()).rows.count).toBe(1);
    expect(await counts()).toMatchObject({ accepted: 1, queued: 1, deadLettered: 0 });
  });

  test('of an entry that could not be read puts it back as it was', async () => {
    const fields = ['v', '3', 'n', '7', 'rows', Buffer.from([0, 255, 10]), 'visitIds', Buffer.alloc(16, 200)];
    await redis.xadd(eventsKey(1), '*', ...fields);
    await redis.hincrby('event-counts', 'accepted', 7);
    await redis.hincrby('event-counts', 'queued', 7);
    await worker.commit(await getBatch(), []);
    const letter = await findOnly();
    expect(letter).toMatchObject({ partition: 1, content: { kind: 'entry' }, eventCount: 7 });
    expect(await letters.replay(letter)).toEqual({ ok: true });
    const [[, kept] = []] = await redis.xrangeBuffer(eventsKey(1, 'backfill'), '-', '+');
    expect(kept).toEqual(fields.map((field) => Buffer.from(field)));
    expect(await counts()).toMatchObject({ accepted: 7, queued: 7, deadLettered: 0 });
  });

  test.each([
    ['a field is missing', ({ urlPath: _, ...event }: EventRow) => event],
    ['a field is unknown', (event: EventRow) => ({ ...event, extra: 1 })],
    ['an id is none', (event: EventRow) => ({ ...event, visitId: 'x' })],
    ['a number is none', (event: EventRow) => ({ ...event, lcp: 'fast' })],
    ['it is no object', () => null],
  ])('is refused, and the letter stays, when %s', async (_, change) => {
    const [event] = await makeLetters(1);
    if (!event) throw new Error('no event');
    const { partition, streamId } = await findOnly();
    await redis.xdel(deadLettersKey(partition), streamId);
    await redis.xadd(
      deadLettersKey(partition),
      '*',
      'time',
      't',
      'reason',
      'r',
      'event',
      JSON.stringify(change(event)),
    );
    const letter = await findOnly();
    expect(await letters.replay(letter)).toEqual({ ok: false, reason: 'is not an event of this version' });
    expect(await letters.count()).toBe(1);
    expect(await counts()).toMatchObject({ queued: 0, deadLettered: 1 });
  });

  test('that Redis has no room for leaves the letter where it is', async () => {
    const server = await startOwnRedis();
    onTestFinished(server.remove);
    await connect(server.url);
    await makeLetters(1);
    const letter = await findOnly();
    await redis.config('SET', 'maxmemory', '1');
    await expect(letters.replay(letter)).rejects.toThrow('OOM');
    expect(await counts()).toMatchObject({ queued: 0, deadLettered: 1 });
    expect(await letters.drop(letter)).toBe(true);
    expect(await counts()).toMatchObject({ accepted: 1, dropped: 1 });
  });
});

test('a letter that is dropped is gone and counted once', async () => {
  await makeLetters(2);
  const [letter] = await letters.list(1);
  if (!letter) throw new Error('no letter');
  const outcomes = await Promise.all(Array.from({ length: 10 }, () => letters.drop(letter)));
  expect(outcomes.filter((isDone) => isDone)).toHaveLength(1);
  expect(await letters.find(letter.id)).toBeNull();
  expect(await letters.replay(letter)).toEqual({ ok: false, reason: 'is gone' });
  expect(await counts()).toMatchObject({ accepted: 2, dropped: 1, deadLettered: 1, queued: 0 });
});

test('letters of a website that is removed go with it, the others stay', async () => {
  const [gone] = await makeLetters(5);
  if (!gone) throw new Error('no event');
  await letters.removeWebsite(gone.websiteId);
  await letters.removeWebsite(gone.websiteId);
  const left = (await letters.list(10)).map(({ content }) => content.kind === 'event' && content.event.websiteId);
  expect(left).toHaveLength(4);
  expect(left).not.toContain(gone.websiteId);
  expect(await counts()).toMatchObject({ accepted: 5, removed: 1, deadLettered: 4, dropped: 0 });
});
