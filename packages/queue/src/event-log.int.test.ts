import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import type { EventRow } from '@meridian/warehouse/event-row';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createEventLog, type EventLog } from './event-log.ts';
import { toLogBatch } from './log-batch.ts';
import { eventsKey, eventsKeys, idempotencyKey, partitionOf } from './log-keys.ts';
import type { Append, AppendResult, Placement } from './placement.ts';
import { eventsOf, pendingEvent, toRow } from './test-events.ts';
import { connectProducer, type OwnRedis, patience, startOwnRedis } from './test-redis.ts';
import { readUuids } from './uuid-bytes.ts';

const partitions = 3;

function placement(changes: Partial<Placement['event']> = {}): Placement {
  return { event: pendingEvent({ sessionId: randomUUID(), ...changes }) };
}

const visitIdsIn = (result: AppendResult | undefined): string[] | null =>
  result?.ok ? readUuids(result.visitIds) : null;

/** The entries of the log, stream by stream, each as its events. */
async function storedEntries(redis: Redis): Promise<EventRow[][]> {
  const entries: EventRow[][] = [];
  for (const stream of eventsKeys(partitions)) {
    for (const [id, fields] of await redis.xrangeBuffer(stream, '-', '+')) {
      const events = eventsOf(toLogBatch('live', [[[id, fields]]], false).rows);
      expect(fields.slice(0, 4).map(String)).toEqual(['v', '3', 'n', String(events.length)]);
      entries.push(events);
    }
  }
  return entries;
}

/** Of each stored event; every event has its own here. */
const storedSessions = async (redis: Redis): Promise<string[]> =>
  (await storedEntries(redis)).flat().map((event) => event.sessionId);

describe('the event log', () => {
  let database: Awaited<ReturnType<typeof createRedisDatabase>>;
  let redis: Redis;
  let log: EventLog;

  beforeAll(async () => {
    database = await createRedisDatabase();
    redis = await connectProducer(database.url, patience.commandTimeout);
    log = createEventLog({ redis, partitions, appendMaxWaitMs: patience.appendMaxWaitMs });
  });
  beforeEach(() => redis.flushdb());
  afterAll(async () => {
    redis.disconnect();
    await database.drop();
  });

  test('keeps every event with the visit that the sender was told', async () => {
    const placements = Array.from({ length: 20 }, () => placement({ websiteId: randomUUID() }));
    const result = await log.append({ placements });
    const stored = (await storedEntries(redis)).flat().sort((a, b) => (a.eventId < b.eventId ? -1 : 1));
    expect(visitIdsIn(result)).toEqual(stored.map((event) => event.visitId));
    expect(stored).toEqual(
      placements.map(({ event }, i) => toRow({ ...event, eventId: stored[i]?.eventId ?? '' }, stored[i]?.visitId)),
    );
  });

  test('makes one entry for each partition of all that comes in one turn of the event loop', async () => {
    const websites = Array.from({ length: 12 }, () => randomUUID());
    await Promise.all(websites.map((websiteId) => log.append({ placements: [placement({ websiteId })] })));
    const entries = await storedEntries(redis);
    expect(entries.flat()).toHaveLength(12);
    expect(entries.length).toBeLessThanOrEqual(partitions);
  });

  test('lets the appends of a busy process gather, and a sender who is alone never wait', async () => {
    const busy = createEventLog({ redis, partitions: 1, callIntervalMs: 900 });
    await Promise.all([1, 2].map(() => busy.append({ placements: [placement()] })));
    const first = busy.append({ placements: [placement()] });
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    await Promise.all([first, busy.append({ placements: [placement()] })]);
    expect((await storedEntries(redis)).map((events) => events.length)).toEqual([2, 2]);

    const alone = createEventLog({ redis, partitions: 1, callIntervalMs: 60_000 });
    for (let i = 0; i < 3; i++) await alone.append({ placements: [placement()] });
  });

  test('keeps the events of a website in one partition', async () => {
    const websiteId = randomUUID();
    for (let i = 0; i < 3; i++) await log.append({ placements: [placement({ websiteId })] });
    const lengths = await Promise.all([0, 1, 2].map((partition) => redis.xlen(eventsKey(partition))));
    expect(lengths.sort()).toEqual([0, 0, 3]);
  });

  test('gives events of more than 30 days ago a stream of their own, and the sender every visit in the order of the request', async () => {
    const dayMs = 86_400_000;
    const websiteId = randomUUID();
    const placements = [0, 31, 29, 3_650].map((days) =>
      placement({ websiteId, createdAtMs: Date.now() - days * dayMs }),
    );
    const result = await log.append({ placements });
    const [first, second] = placements.map(({ event }) => event);
    const ofStreams = (await storedEntries(redis)).map((events) => events.map(({ sessionId }) => sessionId));
    expect(ofStreams).toEqual([
      [placements[2]?.event.sessionId, first?.sessionId],
      [placements[3]?.event.sessionId, second?.sessionId],
    ]);
    const visitOf = new Map((await storedEntries(redis)).flat().map((event) => [event.sessionId, event.visitId]));
    expect(visitIdsIn(result)).toEqual(placements.map(({ event }) => visitOf.get(event.sessionId)));
  });

  test('lets a visit go on from one stream to the other', async () => {
    const visitor = { websiteId: randomUUID(), sessionId: randomUUID() };
    const limitMs = Date.now() - 30 * 86_400_000;
    const placements = [-60_000, 60_000].map((ms) => placement({ ...visitor, createdAtMs: limitMs + ms }));
    const [before, after] = visitIdsIn(await log.append({ placements })) ?? [];
    expect(before).toBe(after);
    expect((await storedEntries(redis)).map((events) => events.length)).toEqual([1, 1]);
  });

  test('cuts a large request into entries of at most 500 events', async () => {
    const placements = Array.from({ length: 1_000 }, () => placement());
    const result = await log.append({ placements });
    const entries = await storedEntries(redis);
    expect(entries.map((events) => events.length)).toEqual([500, 500]);
    const visitOf = new Map(entries.flat().map((event) => [event.sessionId, event.visitId]));
    expect(visitIdsIn(result)).toEqual(placements.map(({ event }) => visitOf.get(event.sessionId)));
  });

  test('cuts a request into entries of about a mebibyte', async () => {
    const placements = Array.from({ length: 30 }, () =>
      placement({ data: JSON.stringify({ text: 'x'.repeat(100_000) }) }),
    );
    await log.append({ placements });
    expect((await storedEntries(redis)).map((events) => events.length)).toEqual([11, 11, 8]);
  });

  test('appends after Redis has lost its scripts', async () => {
    await log.append({ placements: [placement()] });
    await redis.script('FLUSH');
    await log.append({ placements: [placement()] });
    expect(await storedSessions(redis)).toHaveLength(2);
  });

  describe('an idempotency key', () => {
    const append = (
      changes: Partial<NonNullable<Append['idempotency']>> = {},
      placements = [placement(), placement()],
    ) =>
      ({
        placements,
        idempotency: { key: 'send:w:k', bodyHash: 'hash-1', draft: 'draft-1', ...changes },
      }) satisfies Append;

    const nothing = { ok: true, visitIds: new Uint8Array(), lastAtMs: new Float64Array() };
    /** What a repetition gets: the first request's draft, and the visit of its last event. */
    const replayOf = (first: AppendResult) => ({
      ok: true,
      visitIds: first.ok && first.visitIds.slice(-16),
      lastAtMs: first.ok && first.lastAtMs.slice(-1),
      replayOf: 'draft-1',
    });

    test('makes a repeated request store nothing and get the first answer', async () => {
      const first = await log.append(append());
      expect(await log.append(append({ draft: 'draft-2' }))).toEqual(replayOf(first));
      expect(await storedSessions(redis)).toHaveLength(2);
    });

    test('gives the visit of the last event in the request, whatever the time order was', async () => {
      const placements = [3, 1, 2].map((hour) => placement({ createdAtMs: Date.parse(`2026-06-10T0${hour}:00:00Z`) }));
      const first = await log.append(append({}, placements));
      expect(await log.append(append({}, placements))).toEqual(replayOf(first));
    });

    test('takes a few kilobytes at most, however many events and faults the answer tells of', async () => {
      const faults = Array.from({ length: 1_000 }, (_, index) => ({ index, error: 'type: must be one of '.repeat(9) }));
      const draft = JSON.stringify(faults);
      const placements = Array.from({ length: 1_000 }, () => placement());
      const first = await log.append(append({ draft }, placements));
      expect(await log.append(append({}, placements))).toEqual({ ...replayOf(first), replayOf: draft });
      const [key = ''] = await redis.keys('idempotency:*');
      expect(await redis.memory('USAGE', key)).toBeLessThan(10_000);
    });

    test('of a record that the version before has kept is known', async () => {
      const { idempotency } = append();
      const visitIds = Buffer.concat([Buffer.alloc(16, 1), Buffer.alloc(16, 2)]);
      const key = idempotencyKey(partitionOf(idempotency.key, partitions), idempotency.key);
      await redis.hset(key, { bodyHash: 'hash-1', draft: 'draft-1', order: '[1,0]', visitIds });
      const known = { ok: true, visitIds: new Uint8Array(16).fill(1), replayOf: 'draft-1' };
      for (const again of [await log.append(append()), await log.reserve(idempotency)])
        expect(again).toEqual({ ...known, lastAtMs: new Float64Array([0x010101010101]) });
    });

    test('makes ten repetitions at once store one', async () => {
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, i) => log.append(append({ draft: `draft-${i}` }))),
      );
      expect(results.filter((result) => result.ok && result.replayOf === undefined)).toHaveLength(1);
      expect(results.filter((result) => result.ok && result.replayOf === 'draft-0')).toHaveLength(9);
      expect(await storedSessions(redis)).toHaveLength(2);
    });

    test('is refused with another body', async () => {
      await log.append(append());
      const other = await log.append(append({ bodyHash: 'hash-2' }));
      expect(other).toEqual({ ok: false, reason: 'idempotency-key-reused' });
      expect(await storedSessions(redis)).toHaveLength(2);
    });

    test('does not stand for another key', async () => {
      const results = await Promise.all([log.append(append()), log.append(append({ key: 'batch:w:k' }))]);
      expect(results.map((result) => result.ok && result.replayOf)).toEqual([undefined, undefined]);
      expect(await storedSessions(redis)).toHaveLength(4);
    });

    test('is remembered for 24 hours, also for a request that stores nothing here', async () => {
      const first = await log.append(append({}, []));
      expect(first).toEqual(nothing);
      expect(await log.append(append({}, []))).toEqual(replayOf(first));
      const [key = ''] = await redis.keys('idempotency:*');
      const remainingMs = await redis.pttl(key);
      expect(remainingMs).toBeGreaterThan(23 * 3_600_000);
      expect(remainingMs).toBeLessThanOrEqual(24 * 3_600_000);
    });

    test('without a draft is looked up and not kept', async () => {
      const { draft: _, ...idempotency } = append().idempotency;
      const lookUp = () => log.append({ placements: [], idempotency });
      expect(await lookUp()).toEqual(nothing);
      expect(await redis.keys('idempotency:*')).toEqual([]);
      const first = await log.append(append());
      expect(await lookUp()).toEqual(replayOf(first));
    });

    test('that is reserved is refused with another body, and takes its own', async () => {
      const { idempotency } = append();
      for (let i = 0; i < 2; i++) expect(await log.reserve(idempotency)).toEqual(nothing);
      const reused = { ok: false, reason: 'idempotency-key-reused' };
      expect(await log.append(append({ bodyHash: 'hash-2' }))).toEqual(reused);
      expect(await log.reserve({ ...idempotency, bodyHash: 'hash-2' })).toEqual(reused);
      const [key = ''] = await redis.keys('idempotency:*');
      expect(await redis.pttl(key)).toBeLessThanOrEqual(30_000);
      const first = await log.append(append());
      expect(first).not.toHaveProperty('replayOf');
      expect(await redis.pttl(key)).toBeGreaterThan(23 * 3_600_000);
      for (const again of [await log.reserve(idempotency), await log.append(append())])
        expect(again).toEqual(replayOf(first));
      expect(await storedSessions(redis)).toHaveLength(2);
    });

    test('does not touch the other requests of the same turn', async () => {
      await log.append(append());
      const [plain, repeated] = await Promise.all([log.append({ placements: [placement()] }), log.append(append())]);
      expect(visitIdsIn(plain)).toHaveLength(1);
      expect(repeated).toMatchObject({ replayOf: 'draft-1' });
      expect(await storedSessions(redis)).toHaveLength(3);
    });
  });
});

describe('an append is rejected, and nothing of it is stored,', () => {
  let server: OwnRedis;
  let redis: Redis;
  let log: EventLog;

  beforeAll(async () => {
    server = await startOwnRedis();
    redis = await connectProducer(server.url);
    log = createEventLog({ redis, partitions });
  });
  afterAll(async () => {
    redis.disconnect();
    await server.remove();
  });

  /** Appends one event, when Redis is there again; gives its session. */
  const untilAppended = async (): Promise<string> => {
    let one = placement();
    await vi.waitFor(
      async () => {
        one = placement();
        await log.append({ placements: [one] });
      },
      { timeout: 30_000, interval: 20 },
    );
    return one.event.sessionId;
  };

  test('while Redis is full; what was there stays', async () => {
    const kept = await untilAppended();
    await redis.config('SET', 'maxmemory', '1mb');
    await expect(log.append({ placements: [placement(), placement({ websiteId: randomUUID() })] })).rejects.toThrow();
    const idempotency = { key: 'k', bodyHash: 'h', draft: 'd' };
    await expect(log.append({ placements: [placement()], idempotency })).rejects.toThrow();
    expect(await storedSessions(redis)).toEqual([kept]);
    expect(await redis.keys('idempotency:*')).toEqual([]);
    await redis.config('SET', 'maxmemory', '0');
    await untilAppended();
  });

  test('while Redis is stopped: at once, and it appends again when Redis is back', async () => {
    await server.kill();
    await expect.poll(() => redis.status).not.toBe('ready');
    const results = await Promise.allSettled(
      Array.from({ length: 1_000 }, () => log.append({ placements: [placement()] })),
    );
    expect(results.every((result) => result.status === 'rejected')).toBe(true);
    await server.start();
    const appended = await untilAppended();
    expect(await storedSessions(redis)).toContain(appended);
  });

  test('when Redis hangs: also after it goes on', async () => {
    const before = await untilAppended();
    server.signal('SIGSTOP');
    const placements = Array.from({ length: 2_000 }, () => placement());
    const results = await Promise.allSettled(placements.map((one) => log.append({ placements: [one] })));
    server.signal('SIGCONT');
    expect(results.every((result) => result.status === 'rejected')).toBe(true);
    const after = await untilAppended();
    const refused = new Set(placements.map(({ event }) => event.sessionId));
    const stored = await storedSessions(redis);
    expect(stored.filter((id) => refused.has(id))).toEqual([]);
    expect(stored).toEqual(expect.arrayContaining([before, after]));
  });
});
