import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createEventLog } from './event-log.ts';
import { type LogOverflow, type OverflowReason, watchLogLevel } from './log-level.ts';
import { pendingEvent } from './test-events.ts';
import { connectProducer, type OwnRedis, patience, startOwnRedis } from './test-redis.ts';

const day = 86_400_000;
const lookEveryMs = 20;

let server: OwnRedis;
let redis: Redis;

beforeAll(async () => {
  server = await startOwnRedis();
  redis = await connectProducer(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.remove();
});

const watch = (changes: { maxBytes?: number; maxAgeMs?: number } = {}): LogOverflow =>
  watchLogLevel({ redis, partitions: 2, maxAgeMs: day, lookEveryMs, ...changes });
const become = (overflow: LogOverflow, expected: OverflowReason | null) => expect.poll(overflow).toBe(expected);

/** In pieces: a command that is being read takes memory too. */
async function fill(megabytes: number): Promise<void> {
  for (let i = 0; i < megabytes; i++) await redis.set(`much:${i}`, Buffer.alloc(1_000_000));
}
async function empty(): Promise<void> {
  await redis.del(await redis.keys('much:*'));
}

test('above three quarters of what Redis may use nothing is taken, and below it again', async () => {
  const overflow = watch();
  const log = createEventLog({ redis, partitions: 2, overflow, appendMaxWaitMs: patience.appendMaxWaitMs });
  await redis.config('SET', 'maxmemory', '32mb');
  await fill(24);
  await become(overflow, 'memory');
  await expect(log.append({ placements: [{ event: pendingEvent() }] })).rejects.toThrow('high-water mark');
  // Not full yet: the workers can go on.
  await redis.set('little', 'fits');
  await empty();
  await become(overflow, null);
  expect((await log.append({ placements: [{ event: pendingEvent() }] })).ok).toBe(true);
  await redis.config('SET', 'maxmemory', '0');
});

test('what else lies in Redis, and an empty log, are below any limit of the log', async () => {
  await redis.flushall();
  await redis.xgroup('CREATE', 'events:{0}', 'workers', '0', 'MKSTREAM');
  await fill(2);
  const overflow = watch({ maxBytes: 1 });
  const look = vi.spyOn(redis, 'info');
  await expect.poll(() => look.mock.calls.length).toBeGreaterThan(2);
  expect(overflow()).toBeNull();
  await empty();
});

test('a limit of the log counts the bytes of all its partitions, of both lanes', async () => {
  await redis.flushall();
  await redis.xgroup('CREATE', 'events:{1}', 'workers', '0', 'MKSTREAM');
  const [low, high] = [watch({ maxBytes: 50_000 }), watch({ maxBytes: 5_000_000 })];
  const streams = ['events:{1}', 'backfill-events:{0}'];
  const ids = await Promise.all(streams.map((stream) => redis.xadd(stream, '*', 'rows', Buffer.alloc(40_000))));
  await become(low, 'bytes');
  expect(high()).toBeNull();
  for (const [i, id] of ids.entries()) await redis.xdel(streams[i] ?? '', id ?? '');
  await become(low, null);
});

test('while the oldest event has waited for too long nothing is taken; backfill may wait', async () => {
  await redis.flushall();
  const overflow = watch({ maxAgeMs: 60_000 });
  const old = `${Date.now() - 61_000}-0`;
  await redis.xadd('backfill-events:{1}', old, 'v', '3');
  const look = vi.spyOn(redis, 'info');
  await expect.poll(() => look.mock.calls.length).toBeGreaterThan(2);
  expect(overflow()).toBeNull();
  await redis.xadd('events:{1}', old, 'v', '3');
  await become(overflow, 'age');
  await redis.xdel('events:{1}', old);
  await redis.xadd('events:{1}', `${Date.now() - 30_000}-0`, 'v', '3');
  await become(overflow, null);
});

test('Redis that goes away changes nothing, and is asked again when it is back', async () => {
  await redis.flushall();
  const overflow = watch({ maxBytes: 50_000 });
  await redis.xadd('events:{0}', '*', 'rows', Buffer.alloc(60_000));
  await become(overflow, 'bytes');
  await server.kill();
  await expect.poll(() => redis.status).not.toBe('ready');
  expect(overflow()).toBe('bytes');
  await server.start();
  await expect.poll(() => redis.status, { timeout: 10_000 }).toBe('ready');
  await redis.flushall();
  await become(overflow, null);
});
