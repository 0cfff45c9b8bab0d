import { randomUUID } from 'node:crypto';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { PendingEvent } from './collected-event.ts';
import { createDeadLetters } from './dead-letters.ts';
import { createEventLog, type EventLog } from './event-log.ts';
import type { LogBatch } from './log-batch.ts';
import { createLogConsumer, type LogConsumer } from './log-consumer.ts';
import { consumerGroup, deadLettersKey, eventsKey, type Lane, lanes, manifestsKey, partitionOf } from './log-keys.ts';
import { getLogMark, isConsumedUpTo } from './log-marks.ts';
import { createRecordedIds, eventsOf, pendingEvent, rawEntry } from './test-events.ts';
import { connectProducer, connectWorker, patience, startOwnRedis } from './test-redis.ts';
import { uuidV7TimeMs } from './uuid-v7.ts';

const partitions = 3;
const limits = { eventsMax: 50_000, maxWaitMs: 20 };
const reclaimIdleMs = 300;
const streams = Array.from({ length: partitions }, (_, partition) => eventsKey(partition));

const longAgo = { createdAtMs: Date.UTC(2019, 4, 1) };

let url: string;
let redis: Redis;
let log: EventLog;
let ids: ReturnType<typeof createRecordedIds>;

beforeEach(async () => {
  const database = await createRedisDatabase();
  onTestFinished(database.drop);
  await connect(database.url);
});

async function connect(redisUrl: string): Promise<void> {
  url = redisUrl;
  redis = await connectProducer(url, patience.commandTimeout);
  onTestFinished(() => redis.disconnect());
  ids = createRecordedIds();
  log = createEventLog({ redis, partitions, ids: ids.ids, appendMaxWaitMs: patience.appendMaxWaitMs });
}

async function consumer(
  name: string = randomUUID(),
  idleMs = reclaimIdleMs,
  lane: Lane = 'live',
  of = partitions,
): Promise<LogConsumer> {
  const [own, waitingRedis] = [await connectWorker(url), await connectWorker(url)];
  onTestFinished(() => own.disconnect());
  onTestFinished(() => waitingRedis.disconnect());
  return createLogConsumer({ lane, redis: own, waitingRedis, partitions: of, consumer: name, reclaimIdleMs: idleMs });
}

/** Appends events of as many websites, and gives their ids, in order. */
async function append(count: number, changes: Partial<PendingEvent> = {}): Promise<string[]> {
  const before = ids.given.length;
  const placements = Array.from({ length: count }, () => {
    return { event: pendingEvent({ websiteId: randomUUID(), sessionId: randomUUID(), ...changes }) };
  });
  const appended = log.append({ placements });
  // An append takes its ids at once.
  const own = ids.given.slice(before);
  await appended;
  return own;
}

async function getBatch(from: LogConsumer, ask = limits): Promise<LogBatch> {
  for (;;) {
    const batch = await from.next(ask);
    if (batch) return batch;
  }
}

const idsOf = (batch: LogBatch): string[] =>
  eventsOf(batch.rows)
    .map((event) => event.eventId)
    .sort();
const entriesLeft = async (): Promise<number> =>
  (await Promise.all(streams.map((stream) => redis.xlen(stream)))).reduce((sum, length) => sum + length, 0);

describe('a consumer', () => {
  test('gets what was appended to every partition, and leaves nothing behind after the commit', async () => {
    const worker = await consumer();
    expect(await worker.next(limits)).toBeNull();
    const appended = await append(30);
    const batch = await getBatch(worker);
    expect(idsOf(batch)).toEqual(appended);
    expect(uuidV7TimeMs(eventsOf(batch.rows)[0]?.visitId ?? '')).toBe(pendingEvent().createdAtMs);
    expect(batch.mayBeStored).toBe(false);
    expect(await worker.commit(batch, [])).toBe(true);
    expect(await entriesLeft()).toBe(0);
    expect(await redis.exists(manifestsKey())).toBe(0);
    expect(await worker.next(limits)).toBeNull();
  });

  test('gets what is appended while it waits', async () => {
    const worker = await consumer();
    const batch = getBatch(worker);
    const appended = await append(1);
    expect(idsOf(await batch)).toEqual(appended);
  });

  test('gets what is appended while it waits to more partitions than one read asks', async () => {
    const worker = await consumer(randomUUID(), reclaimIdleMs, 'live', 100);
    const [, entry] = rawEntry([pendingEvent()], [randomUUID()]);
    for (const partition of [99, 0]) {
      const batch = getBatch(worker);
      await redis.xadd(eventsKey(partition), '*', ...entry);
      expect((await batch).entryIds[partition]).toHaveLength(1);
    }
  });

  test('closes a batch when it is full', async () => {
    for (let i = 0; i < 6; i++) await append(30);
    const batch = await getBatch(await consumer(), { eventsMax: 60, maxWaitMs: 10_000 });
    expect(batch.rows.count).toBeGreaterThanOrEqual(60);
    expect(batch.rows.count).toBeLessThan(180);
  });

  describe('gets batches that fit into its memory, however small their events are packed,', () => {
    const large = 100;
    const batchMaxBytes = 40_000_000;

    async function appendLarge(partitionAt = (i: number): number => 1 + (i % 2)): Promise<void> {
      const [, entry] = rawEntry([pendingEvent({ data: 'x'.repeat(1_000_000) })], [randomUUID()]);
      for (let i = 0; i < large; i++) await redis.xadd(eventsKey(partitionAt(i)), '*', ...entry);
    }
    async function expectAllInPortions(worker: LogConsumer): Promise<void> {
      let got = 0;
      while (got < large) {
        const batch = await getBatch(worker, { eventsMax: 50_000, maxWaitMs: 1_000 });
        expect(batch.rows.bytes.length).toBeLessThan(batchMaxBytes);
        expect(await worker.commit(batch, [])).toBe(true);
        got += batch.rows.count;
      }
      expect(got).toBe(large);
    }

    test('of what is new', async () => {
      await appendLarge();
      await expectAllInPortions(await consumer());
    });

    test('of as many partitions', async () => {
      await appendLarge((i) => i);
      await expectAllInPortions(await consumer(randomUUID(), reclaimIdleMs, 'live', large));
    });

    test('of what a worker read that died before it began a batch', async () => {
      await appendLarge();
      await (await consumer()).next({ eventsMax: 0, maxWaitMs: 1 }); // makes the group
      for (const stream of streams) await redis.xreadgroup('GROUP', consumerGroup, 'dead', 'STREAMS', stream, '>');
      await expectAllInPortions(await consumer());
    });
  });

  test('goes on with a batch behind an entry whose number of events is damaged', async () => {
    const entryOf = (count: number, n = String(count)): Buffer[] => {
      const [, fields] = rawEntry(Array(count).fill(pendingEvent()), Array(count).fill(randomUUID()));
      return fields.map((field, i) => (fields[i - 1]?.toString() === 'n' ? Buffer.from(n) : field));
    };
    // Read one by one, and closed by the last.
    for (const entry of [entryOf(1, 'many'), entryOf(1, 'many'), entryOf(10)])
      await redis.xadd(eventsKey(1), '*', ...entry);
    const batch = await getBatch(await consumer(), { eventsMax: 10, maxWaitMs: 10_000 });
    expect(batch.rows.count).toBe(12);
  });

  test('has an entry once in a batch, also when Redis forgets in the middle that it was handed out', async () => {
    const appended = await append(4);
    const worker = await consumer();
    const batch = worker.next({ eventsMax: 10_000, maxWaitMs: 2_000 });
    const pending = async () =>
      Promise.all(streams.map(async (stream) => Number(((await redis.xpending(stream, 'workers')) as [number])[0])));
    await expect.poll(async () => (await pending()).reduce((sum, n) => sum + n, 0)).toBeGreaterThan(0);
    for (const stream of streams) await redis.xgroup('SETID', stream, 'workers', '0');
    const later = await append(1);
    const ids = idsOf((await batch) ?? (await getBatch(worker)));
    expect(ids).toEqual([...appended, ...later].sort());
  });

  test('shares the log with others: every event goes to one', async () => {
    const workers = [await consumer(), await consumer(), await consumer()];
    const appended = (await Promise.all(Array.from({ length: 20 }, () => append(10)))).flat();
    const got: string[] = [];
    const consume = async (worker: LogConsumer): Promise<void> => {
      while (got.length < appended.length) {
        const batch = await worker.next({ eventsMax: 20, maxWaitMs: 5 });
        if (batch && (await worker.commit(batch, []))) got.push(...idsOf(batch));
      }
    };
    await Promise.all(workers.map(consume));
    expect(got.sort()).toEqual(appended.sort());
  });

  test('that stops leaves no idle consumer behind, but never what it holds', async () => {
    const [quiet, holding] = [await consumer('quiet'), await consumer('holding')];
    await quiet.next(limits);
    await append(10);
    await getBatch(holding);
    await quiet.leave();
    await holding.leave();
    const held = (await Promise.all(streams.map((stream) => redis.xpending(stream, consumerGroup)))).map((p) =>
      Number(p[0]),
    );
    expect(held.reduce((sum, count) => sum + count, 0)).toBe(await entriesLeft());
    const names = (await Promise.all(streams.map((stream) => redis.xinfo('CONSUMERS', stream, consumerGroup)))).flat(2);
    expect(names).not.toContain('quiet');
    expect(names).toContain('holding');
  });
});

test('an entry that tells no number of events is set aside, replayed and dropped like any other', async () => {
  const letters = createDeadLetters({ redis, partitions });
  const findOnly = async () => {
    const [letter] = await letters.list(10);
    if (!letter) throw new Error('no letter');
    return letter;
  };
  await redis.xadd(eventsKey(1), '*', 'v', '3', 'damaged', 'x');
  for (const lane of lanes) {
    const worker = await consumer(randomUUID(), reclaimIdleMs, lane); // it is replayed as backfill
    const batch = await getBatch(worker);
    expect(batch.unreadable).toMatchObject([{ eventCount: 0 }]);
    expect(await worker.commit(batch, [])).toBe(true);
    expect(await entriesLeft()).toBe(0);
    if (lane === 'live') expect(await letters.replay(await findOnly())).toEqual({ ok: true });
  }
  expect(await letters.drop(await findOnly())).toBe(true);
  expect(await letters.count()).toBe(0);
});

describe('exactly once', () => {
  test('a batch that was begun is taken over with the same events and token; the stalled worker can neither hold nor end it', async () => {
    const [stalled, other] = [await consumer(), await consumer()];
    await stalled.next({ eventsMax: 0, maxWaitMs: 1 }); // what is there at the first look may be stored already
    const appended = await append(10);
    const batch = await getBatch(stalled);
    const taken = await getBatch(other);
    expect(idsOf(taken)).toEqual(appended);
    expect(taken).toMatchObject({ token: batch.token, entryIds: batch.entryIds, mayBeStored: false });
    expect(await stalled.hold(batch)).toBe(false);
    expect(await stalled.commit(batch, [])).toBe(false);
    expect(await entriesLeft()).toBeGreaterThan(0);
    expect(await other.commit(taken, [])).toBe(true);
    expect(await entriesLeft()).toBe(0);
    expect(await redis.exists(manifestsKey())).toBe(0);
  });

  test('that parts of a batch may be stored under other tokens is known to whoever takes it over, also after him', async () => {
    await append(10);
    const first = await consumer();
    expect(await first.writeManifest(await getBatch(first), { mayBeStored: true })).toBe(true);
    expect((await getBatch(await consumer())).mayBeStored).toBe(true);
    const sure = await consumer();
    expect(await sure.writeManifest(await getBatch(sure), { mayBeStored: false })).toBe(true);
    const unsure = await consumer();
    const again = await getBatch(unsure);
    expect(again.mayBeStored).toBe(false);
    expect(await unsure.writeManifest(again, { mayBeStored: true })).toBe(true);
    const last = await consumer();
    const taken = await getBatch(last);
    expect(taken.mayBeStored).toBe(true);
    expect(await first.writeManifest(taken, { mayBeStored: false })).toBe(false);
    expect(await last.commit(taken, [])).toBe(true);
  });

  test('a batch that is taken over tells since when it may be stored under its token, one that is begun does not', async () => {
    const first = await consumer();
    await first.next({ eventsMax: 0, maxWaitMs: 1 });
    await append(10);
    const batch = await getBatch(first);
    expect(batch.begunAfterMs).toBeNull();
    const newestMs = Math.max(...batch.entryIds.flat().map((id) => Number.parseInt(id, 10)));
    expect((await getBatch(await consumer())).begunAfterMs).toBe(newestMs);
  });

  test('a batch is taken over again and again until somebody ends it', async () => {
    await append(10);
    const tokens = new Set<string>();
    for (let i = 0; i < 3; i++) tokens.add((await getBatch(await consumer())).token);
    expect(tokens.size).toBe(1);
  });

  test('only one of many takes an abandoned batch over', async () => {
    await append(10);
    await getBatch(await consumer());
    const workers = await Promise.all(Array.from({ length: 5 }, () => consumer()));
    const taken: LogBatch[] = [];
    await expect
      .poll(async () => {
        for (const batch of await Promise.all(workers.map((worker) => worker.next(limits))))
          if (batch) taken.push(batch);
        return taken.length;
      })
      .toBeGreaterThan(0);
    expect(taken).toHaveLength(1);
  });

  test('a batch that is held is not taken, however long it takes to store', async () => {
    await append(10);
    const [slow, other] = [await consumer(), await consumer()];
    const batch = await getBatch(slow);
    const until = performance.now() + 4 * reclaimIdleMs;
    while (performance.now() < until) {
      expect(await slow.hold(batch)).toBe(true);
      expect(await other.next({ eventsMax: 1, maxWaitMs: 1 })).toBeNull();
    }
    expect(await slow.commit(batch, [])).toBe(true);
  }, 20_000);

  test('what a worker read but never began is taken over, to be stored only where it is not', async () => {
    const appended = await append(10);
    await (await consumer()).next({ eventsMax: 0, maxWaitMs: 1 }); // makes the group
    for (const stream of streams) await redis.xreadgroup('GROUP', consumerGroup, 'dead', 'STREAMS', stream, '>');
    const taken = await getBatch(await consumer());
    expect(idsOf(taken)).toEqual(appended);
    expect(taken.mayBeStored).toBe(true);
  });

  test('what is left of a batch when Redis has lost a part of it is taken over without its token', async () => {
    await append(30);
    const batch = await getBatch(await consumer());
    const partition = batch.entryIds.findIndex((ids) => ids.length > 0);
    await redis.xack(eventsKey(partition), consumerGroup, ...(batch.entryIds[partition] ?? []));
    const taken = await getBatch(await consumer());
    expect(taken.entryIds).toEqual(batch.entryIds.map((ids, p) => (p === partition ? [] : ids)));
    expect(taken.token).not.toBe(batch.token);
    expect(taken.mayBeStored).toBe(true);
  });

  test('what Redis brings back behind entries that were handed out is taken over at its restart', async () => {
    const server = await startOwnRedis();
    onTestFinished(server.remove);
    await connect(server.url);
    const worker = await consumer();
    expect(await worker.next(limits)).toBeNull();
    const back: string[] = [];
    for (let i = 0; i < 180; i++) back.push(...(await append(1)));
    for (const stream of streams) await redis.xgroup('SETID', stream, consumerGroup, '$');
    expect(await worker.next(limits)).toBeNull();
    await server.kill();
    await server.start();
    const batch = await getBatch(worker);
    expect(idsOf(batch)).toEqual(back.sort());
    expect(batch.mayBeStored).toBe(true);
    await worker.commit(batch, []);
    expect(await entriesLeft()).toBe(0);
  });

  test('what was in the log when Redis restarted may be stored already; what came later is not', async () => {
    const server = await startOwnRedis();
    onTestFinished(server.remove);
    await connect(server.url);
    const worker = await consumer();
    expect(await worker.next(limits)).toBeNull();
    const before = await append(10);
    await server.kill();
    await server.start();
    const batch = await getBatch(worker);
    expect(idsOf(batch)).toEqual(before);
    expect(batch.mayBeStored).toBe(true);
    await worker.commit(batch, []);

    await expect.poll(() => redis.status).toBe('ready');
    const after = await append(10);
    const fresh = await getBatch(worker);
    expect(idsOf(fresh)).toEqual(after);
    expect(fresh.mayBeStored).toBe(false);
  });

  describe('after a restart of Redis, which may have forgotten that a worker is storing them,', () => {
    const patientMs = 4_000;

    async function restarted(prepare: () => Promise<unknown>): Promise<void> {
      const server = await startOwnRedis();
      onTestFinished(server.remove);
      await connect(server.url);
      const worker = await consumer();
      expect(await worker.next(limits)).toBeNull();
      await prepare();
      await server.kill();
      await server.start();
      await expect.poll(() => redis.status).toBe('ready');
    }

    /** The wait is the guarantee: so long a worker may take to notice. */
    async function expectWaits(ids: string[]): Promise<void> {
      const worker = await consumer('patient', patientMs);
      const startedAt = performance.now();
      const batch = await getBatch(worker);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(patientMs / 4);
      expect(idsOf(batch)).toEqual(ids.sort());
      expect(batch.mayBeStored).toBe(true);
      expect(await worker.commit(batch, [])).toBe(true);
    }

    test('events that were there are begun when that worker must have noticed', async () => {
      let there: string[] = [];
      await restarted(async () => {
        there = await append(10);
      });
      await expectWaits(there);
    });

    test('so are those that come back behind entries that were handed out', async () => {
      let there: string[] = [];
      await restarted(async () => {
        there = await append(10);
        for (const stream of streams) await redis.xgroup('SETID', stream, consumerGroup, '$');
      });
      await expectWaits(there);
    });

    test('events that come later wait for nobody', async () => {
      await restarted(async () => {});
      const worker = await consumer('patient', 4_000_000);
      expect(await worker.next(limits)).toBeNull();
      const after = await append(10);
      expect(idsOf(await getBatch(worker))).toEqual(after);
    });
  });
});

describe('what cannot be stored', () => {
  const lettersIn = async (): Promise<string[][]> =>
    (await Promise.all(streams.map((_, p) => redis.xrange(deadLettersKey(p), '-', '+'))))
      .flat()
      .map(([, fields]) => fields);

  test('becomes a dead letter with reason and time when the batch ends', async () => {
    await append(10);
    const worker = await consumer();
    const batch = await getBatch(worker);
    const [event] = eventsOf(batch.rows);
    if (!event) throw new Error('no event');
    await worker.commit(batch, [{ event, reason: 'too odd' }]);
    expect(await lettersIn()).toEqual([
      ['time', expect.stringMatching(/^\d{4}-.*Z$/), 'reason', 'too odd', 'event', JSON.stringify(event)],
    ]);
    expect(await redis.xlen(deadLettersKey(partitionOf(event.websiteId, partitions)))).toBe(1);
    expect(await entriesLeft()).toBe(0);
  });

  test('and cannot become a dead letter either: the batch stays in the log', async () => {
    const appended = await append(10);
    const worker = await consumer();
    const batch = await getBatch(worker);
    const [event] = eventsOf(batch.rows);
    if (!event) throw new Error('no event');
    const key = deadLettersKey(partitionOf(event.websiteId, partitions));
    await redis.set(key, 'not a stream');
    await expect(worker.commit(batch, [{ event, reason: 'too odd' }])).rejects.toThrow('WRONGTYPE');
    await redis.del(key);
    expect(idsOf(await getBatch(await consumer()))).toEqual(appended);
  });

  test('becomes a dead letter also when it is a whole batch', async () => {
    await append(1);
    const worker = await consumer();
    const batch = await getBatch(worker);
    const [event] = eventsOf(batch.rows);
    if (!event) throw new Error('no event');
    const letters = Array.from({ length: 50_000 }, () => ({ event, reason: 'too odd' }));
    expect(await worker.commit(batch, letters)).toBe(true);
    expect(await createDeadLetters({ redis, partitions }).count()).toBe(letters.length);
  });

  test('because its bytes make no sense becomes a dead letter; its neighbours are delivered', async () => {
    await redis.xadd(eventsKey(1), '*', 'v', '3', 'n', '1', 'rows', 'garbage', 'visitIds', 'x'.repeat(16));
    await redis.xadd(eventsKey(1), '*', 'nothing', 'known');
    const appended = await append(10);
    const worker = await consumer();
    const batch = await getBatch(worker);
    expect(idsOf(batch)).toEqual(appended);
    await worker.commit(batch, []);
    const letters = await lettersIn();
    expect(letters.map((fields) => fields[4])).toEqual(['entry', 'entry']);
    expect(letters[1]?.[5]).toBe(
      JSON.stringify(['nothing', 'known'].map((text) => Buffer.from(text).toString('base64'))),
    );
    expect(await entriesLeft()).toBe(0);
  });

  test('because a later version wrote it stays in the log for a worker that knows the version', async () => {
    await redis.xadd(eventsKey(1), '*', 'v', '4', 'n', '1', 'rows', 'x', 'visitIds', 'y');
    const appended = await append(10);
    const worker = await consumer();
    const batch = await getBatch(worker);
    expect(idsOf(batch)).toEqual(appended);
    await worker.commit(batch, []);
    expect(await entriesLeft()).toBe(1);
    expect(await lettersIn()).toEqual([]);
  });

  test('because a later version wrote it stays there, too, of a batch that a worker of that version began: the others are compared, under a token of their own', async () => {
    await redis.xadd(eventsKey(1), '*', 'v', '4', 'n', '1', 'rows', 'x', 'visitIds', 'y');
    const appended = await append(10);
    const began = await getBatch(await consumer('later'));
    const all = await Promise.all(streams.map(async (key) => (await redis.xrange(key, '-', '+')).map(([id]) => id)));
    await redis.hdel(manifestsKey(), began.token);
    await redis.hset(manifestsKey(), 'of all', `later\n${JSON.stringify(all)}`);

    const worker = await consumer();
    const batch = await getBatch(worker);
    expect(idsOf(batch)).toEqual(appended);
    expect(batch).toMatchObject({ mayBeStored: true, begunAfterMs: null });
    expect(batch.token).not.toBe('of all');
    expect(await redis.hget(manifestsKey(), 'of all')).toMatch(/\n.*\n$/); // the later one, too, compares
    expect(await worker.commit(batch, [])).toBe(true);
    expect(await entriesLeft()).toBe(1);
  });
});

test('a full Redis can be drained', async () => {
  const server = await startOwnRedis();
  onTestFinished(server.remove);
  await connect(server.url);
  const appended = await append(200);
  const worker = await consumer();
  await worker.next({ eventsMax: 0, maxWaitMs: 1 });
  await redis.config('SET', 'maxmemory', '1');
  await expect(append(1)).rejects.toThrow();
  const batch = await getBatch(worker);
  expect(idsOf(batch)).toEqual(appended);
  const [event] = eventsOf(batch.rows);
  if (!event) throw new Error('no event');
  expect(await worker.commit(batch, [{ event, reason: 'also a dead letter fits' }])).toBe(true);
  expect(await entriesLeft()).toBe(0);
});

test('a mark of the log is passed when all that was handed out at that moment is consumed, of both lanes', async () => {
  const appendBoth = () => Promise.all([append(10), append(10, longAgo)]);
  const mark = () => getLogMark(redis, partitions);
  await appendBoth();
  expect(await isConsumedUpTo(redis, await mark())).toBe(true); // there is no worker yet
  const workers = [await consumer(), await consumer(randomUUID(), reclaimIdleMs, 'backfill')];
  const batches = await Promise.all(workers.map((worker) => getBatch(worker)));
  await appendBoth();
  const handedOut = await mark();
  for (const [i, worker] of workers.entries()) {
    expect(await isConsumedUpTo(redis, handedOut)).toBe(false);
    await worker.commit(batches[i] as LogBatch, []);
  }
  expect(await isConsumedUpTo(redis, handedOut)).toBe(true);
});

test('a batch is taken over in its own lane', async () => {
  const both = (name: string, idleMs?: number) => Promise.all(lanes.map((lane) => consumer(name, idleMs, lane)));
  const appended = [await append(5), await append(5, longAgo)];
  const [dead, alive] = [await both('dead'), await both('alive', 0)];
  const tokens = await Promise.all(dead.map(async (one) => (await getBatch(one)).token));
  const taken = await Promise.all(alive.map((one) => getBatch(one)));
  expect(taken.map(({ lane }) => lane)).toEqual(lanes);
  expect(taken.map(({ token }) => token)).toEqual(tokens);
  expect(taken.map(idsOf)).toEqual(appended);
  for (const [i, one] of alive.entries()) expect(await one.commit(taken[i] as LogBatch, [])).toBe(true);
  expect(await isConsumedUpTo(redis, await getLogMark(redis, partitions))).toBe(true);
});
