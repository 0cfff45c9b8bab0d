import { createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createForwardSpool, type ForwardSpool, type SpooledRequest } from './forward-spool.ts';
import { connectWorker } from './test-redis.ts';

let database: Awaited<ReturnType<typeof createRedisDatabase>>;
let redis: Awaited<ReturnType<typeof connectWorker>>;
let spool: ForwardSpool;

beforeEach(async () => {
  database = await createRedisDatabase();
  redis = await connectWorker(database.url);
  spool = createForwardSpool(redis);
});
afterEach(async () => {
  redis.disconnect();
  await database.drop();
});

const request = (body: string): SpooledRequest => ({
  route: 'send',
  body,
  headers: { 'user-agent': 'Grüße' },
  address: '203.0.113.7',
  receivedAtMs: 1_000,
  idempotencyKey: `key of ${body}`,
});
const bodies = async (afterId = '-') =>
  (await spool.list('eu', afterId, 100)).map((entry) => entry.request?.body ?? 'unreadable');
const sizeOf = (body: string) => Buffer.byteLength(JSON.stringify(request(body)));

test('requests wait in their order, each region for itself', async () => {
  for (const body of ['1', '2', '3']) expect(await spool.keep('eu', request(body), 10_000)).toBe(true);
  await spool.keep('ap', request('other'), 10_000);
  expect(await bodies()).toEqual(['1', '2', '3']);
  const [first] = await spool.list('eu', '-', 1);
  expect(first?.request).toEqual(request('1'));
  expect(await bodies(first?.id)).toEqual(['2', '3']);
  expect([(await spool.waiting('eu')).requests, (await spool.waiting('ap')).requests]).toEqual([3, 1]);
});

test('no more is kept than fits, and what was delivered makes room', async () => {
  const maxBytes = 2 * sizeOf('é');
  const kept = [];
  for (let i = 0; i < 3; i++) kept.push(await spool.keep('eu', request('é'), maxBytes));
  expect(kept).toEqual([true, true, false]);
  const [first] = await spool.list('eu', '-', 1);
  if (first) await spool.settle('eu', first, null);
  expect(await spool.keep('eu', request('é'), maxBytes)).toBe(true);
  expect(await spool.keep('eu', request('é'), maxBytes)).toBe(false);
});

test('it is known how much waits, and since when', async () => {
  const nothing = { requests: 0, bytes: 0, sinceMs: null };
  expect(await spool.waiting('eu')).toEqual(nothing);
  const redisTimeMs = async () => Number((await redis.time())[0]) * 1_000;
  const beforeMs = await redisTimeMs();
  await spool.keep('eu', request('é'), 10_000);
  const afterMs = (await redisTimeMs()) + 1_000;
  const { sinceMs } = await spool.waiting('eu');
  expect(sinceMs).toBeGreaterThanOrEqual(beforeMs);
  expect(sinceMs).toBeLessThanOrEqual(afterMs);
  await spool.keep('eu', request('2'), 10_000);
  expect(await spool.waiting('eu')).toEqual({ requests: 2, bytes: sizeOf('é') + sizeOf('2'), sinceMs });
  for (const entry of await spool.list('eu', '-', 2)) await spool.settle('eu', entry, null);
  expect(await spool.waiting('eu')).toEqual(nothing);
});

test('what is left of a request goes behind the others, once, however often it is settled', async () => {
  for (const body of ['1', '2']) await spool.keep('eu', request(body), 10_000);
  const [first] = await spool.list('eu', '-', 1);
  if (!first) throw new Error('nothing kept');
  await Promise.all([1, 2, 3].map(() => spool.settle('eu', first, request('rest'))));
  expect(await bodies()).toEqual(['2', 'rest']);
  for (const entry of await spool.list('eu', '-', 10)) await spool.settle('eu', entry, null);
  expect([await bodies(), await redis.get('forward:{eu}:size')]).toEqual([[], '0']);
});

test('an entry that cannot be read is told as one, and can be taken away', async () => {
  await redis.xadd('forward:{eu}', '*', 'request', '{"route":"other"}');
  const [entry] = await spool.list('eu', '-', 1);
  expect(entry?.request).toBeNull();
  if (entry) await spool.settle('eu', entry, null);
  expect((await spool.waiting('eu')).requests).toBe(0);
});

test('only one delivers at a time; another one does when the lease is over', async () => {
  expect(await spool.lease('eu', 'first', 10_000)).toBe(true);
  expect(await spool.lease('eu', 'second', 10_000)).toBe(false);
  expect(await spool.lease('eu', 'first', 50)).toBe(true);
  await expect.poll(() => spool.lease('eu', 'second', 10_000)).toBe(true);
  expect(await spool.lease('eu', 'first', 10_000)).toBe(false);
});
