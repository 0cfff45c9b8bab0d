import { randomUUID } from 'node:crypto';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countQueued, readEventCounts, unaccountedEvents } from './event-counts.ts';
import { createEventLog } from './event-log.ts';
import { createLogConsumer } from './log-consumer.ts';
import { eventsKey } from './log-keys.ts';
import { eventsOf, pendingEvent } from './test-events.ts';
import { connectProducer, connectWorker, patience } from './test-redis.ts';

const partitions = 3;
const events = (count: number) =>
  Array.from({ length: count }, () => ({ event: pendingEvent({ websiteId: randomUUID(), sessionId: randomUUID() }) }));

let database: Awaited<ReturnType<typeof createRedisDatabase>>;
let redis: Redis;
let waitingRedis: Redis;

beforeAll(async () => {
  database = await createRedisDatabase();
  redis = await connectProducer(database.url, patience.commandTimeout);
  waitingRedis = await connectWorker(database.url);
});
afterAll(async () => {
  redis.disconnect();
  waitingRedis.disconnect();
  await database.drop();
});

/** The counts, which must add up, and the events that are in the log in fact. */
async function countsNow() {
  const counts = await readEventCounts(redis);
  expect(unaccountedEvents(counts)).toBe(0);
  expect(await countQueued(redis, partitions)).toBe(counts.queued);
  return counts;
}

test('every accepted event is counted as what became of it, at every moment', async () => {
  const none = { accepted: 0, queued: 0, stored: 0, deadLettered: 0, removed: 0, dropped: 0 };
  expect(await countsNow()).toEqual(none);

  const log = createEventLog({ redis, partitions, appendMaxWaitMs: patience.appendMaxWaitMs });
  const idempotency = { key: 'k', bodyHash: 'h', draft: 'd' };
  await log.append({ placements: events(700) });
  for (let repetition = 0; repetition < 3; repetition++) await log.append({ placements: events(5), idempotency });
  expect(await countsNow()).toEqual({ ...none, accepted: 705, queued: 705 });

  const worker = createLogConsumer({ redis, waitingRedis, partitions, consumer: 'one', reclaimIdleMs: 4_000 });
  const batch = await worker.next({ eventsMax: 10_000, maxWaitMs: 200 });
  if (!batch) throw new Error('nothing to read');
  expect(batch.rows.count).toBe(705);
  expect(await countsNow()).toEqual({ ...none, accepted: 705, queued: 705 });

  const [odd] = eventsOf(batch.rows);
  if (!odd) throw new Error('no event');
  await worker.commit(batch, [{ event: odd, reason: 'odd' }], 4);
  expect(await countsNow()).toEqual({ ...none, accepted: 705, stored: 700, deadLettered: 1, removed: 4 });

  // A batch that belongs to another worker by now is not counted again.
  expect(await worker.commit(batch, [], 4)).toBe(false);
  expect(await countsNow()).toEqual({ ...none, accepted: 705, stored: 700, deadLettered: 1, removed: 4 });
});

test('events of an entry that makes no sense are counted as dead letters', async () => {
  const before = await countsNow();
  const log = createEventLog({ redis, partitions, appendMaxWaitMs: patience.appendMaxWaitMs });
  const [one] = events(1);
  if (!one) throw new Error('no event');
  const sameSite = Array.from({ length: 3 }, () => one);
  await log.append({ placements: sameSite });
  for (let partition = 0; partition < partitions; partition++) {
    const [entry] = await redis.xrangeBuffer(eventsKey(partition), '-', '+');
    if (!entry) continue;
    const [id, fields] = entry;
    const broken = fields.map((field, i) => (fields[i - 1]?.toString() === 'rows' ? Buffer.from('broken') : field));
    await redis.xdel(eventsKey(partition), id);
    await redis.xadd(eventsKey(partition), '*', ...broken);
  }
  const worker = createLogConsumer({ redis, waitingRedis, partitions, consumer: 'two', reclaimIdleMs: 4_000 });
  const batch = await worker.next({ eventsMax: 10_000, maxWaitMs: 200 });
  if (!batch) throw new Error('nothing to read');
  await worker.commit(batch, []);
  const { accepted, deadLettered } = await countsNow();
  expect([accepted - before.accepted, deadLettered - before.deadLettered]).toEqual([3, 3]);
});
