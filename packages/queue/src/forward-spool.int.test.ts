import { readFileSync } from 'node:fs';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createForwardSpool, type ForwardSpool, listMaxBytes, type SpooledRequest } from './forward-spool.ts';
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
  (await spool.list('eu', afterId, '+', 100)).map((entry) => entry.request?.body ?? 'unreadable');
const sizeOf = (body: string) => Buffer.byteLength(JSON.stringify(request(body)));

test('requests wait in their order, each region for itself', async () => {
  for (const body of ['1', '2', '3']) expect(await spool.keep('eu', request(body), 10_000)).toBe(true);
  await spool.keep('ap', request('other'), 10_000);
  expect(await bodies()).toEqual(['1', '2', '3']);
  const [first] = await spool.list('eu', '-', '+', 1);
  expect(first?.request).toEqual(request('1'));
  expect(await bodies(first?.id)).toEqual(['2', '3']);
  const lastId = await spool.lastId('eu');
  await spool.keep('eu', request('4'), 10_000);
  expect(await spool.list('eu', '-', lastId ?? '', 100)).toHaveLength(3);
  expect(await spool.lastId('nowhere')).toBeNull();
  expect([(await spool.waiting('eu')).requests, (await spool.waiting('ap')).requests]).toEqual([4, 1]);
});

test('no more is kept than fits, and what was delivered makes room', async () => {
  const maxBytes = 2 * sizeOf('é');
  const kept = [];
  for (let i = 0; i < 3; i++) kept.push(await spool.keep('eu', request('é'), maxBytes));
  expect(kept).toEqual([true, true, false]);
  const [first] = await spool.list('eu', '-', '+', 1);
  if (first) await spool.settle('eu', first, null);
  expect(await spool.keep('eu', request('é'), maxBytes)).toBe(true);
  expect(await spool.keep('eu', request('é'), maxBytes)).toBe(false);
});

test('one look brings no more bytes than fit between the events of this region, or one request that has more', async () => {
  const large = 'x'.repeat(listMaxBytes / 4 - 1_000);
  for (const body of [large, large, '3', `${large}${large}${large}`, '5'])
    await spool.keep('eu', request(body), 100_000_000);
  const looks: number[][] = [];
  for (let afterId = '-'; ; ) {
    const found = await spool.list('eu', afterId, '+', 100);
    if (found.length === 0) break;
    looks.push(found.map((entry) => entry.request?.body.length ?? 0));
    afterId = found.at(-1)?.id ?? '';
  }
  expect(looks).toEqual([[large.length, large.length, 1], [3 * large.length], [1]]);
});

test('it is known how much waits, and since when', async () => {
  const nothing = { requests: 0, bytes: 0, sinceMs: null };
  expect(await spool.waiting('eu')).toEqual(nothing);
  await spool.keep('eu', request('é'), 10_000);
  await spool.keep('eu', { ...request('2'), receivedAtMs: 2_000 }, 10_000);
  expect(await spool.waiting('eu')).toEqual({ requests: 2, bytes: sizeOf('é') + sizeOf('2'), sinceMs: 1_000 });
  // What is left of one has waited as long as the whole.
  for (const entry of await spool.list('eu', '-', '+', 2))
    await spool.settle('eu', entry, entry.request && { ...entry.request, body: 'rest' });
  expect((await spool.waiting('eu')).sinceMs).toBe(1_000);
  for (const entry of await spool.list('eu', '-', '+', 2)) await spool.settle('eu', entry, null);
  expect(await spool.waiting('eu')).toEqual(nothing);
});

test('what is left of a request goes behind the others, once, however often it is settled', async () => {
  for (const body of ['1', '2']) await spool.keep('eu', request(body), 10_000);
  const [first] = await spool.list('eu', '-', '+', 1);
  if (!first) throw new Error('nothing kept');
  await Promise.all([1, 2, 3].map(() => spool.settle('eu', first, request('rest'))));
  expect(await bodies()).toEqual(['2', 'rest']);
  for (const entry of await spool.list('eu', '-', '+', 10)) await spool.settle('eu', entry, null);
  expect([await bodies(), await redis.get('forward:{eu}:size')]).toEqual([[], '0']);
});

test('an entry that cannot be read is told as one, and the runbook takes it away with its bytes', async () => {
  const text = '{"route":"é"}';
  await spool.keep('eu', request('1'), 10_000);
  const id = String(await redis.xadd('forward:{eu}', '*', 'request', text));
  await redis.incrby('forward:{eu}:size', Buffer.byteLength(text));
  expect((await spool.list('eu', '-', '+', 2)).map((entry) => entry.request === null)).toEqual([false, true]);
  const runbook = readFileSync(new URL('../../../docs/runbooks/region-away.md', import.meta.url), 'utf8');
  const [, script = ''] = /EVAL "(.*)" 2 'forward:\{eu\}' 'forward:\{eu\}:size' <id>/.exec(runbook) ?? [];
  for (let i = 0; i < 2; i++) await redis.eval(script, 2, 'forward:{eu}', 'forward:{eu}:size', id);
  expect(await spool.waiting('eu')).toMatchObject({ requests: 1, bytes: sizeOf('1') });
});

test('only one delivers at a time; another one does when the lease is over', async () => {
  expect(await spool.lease('eu', 'first', 10_000)).toBe(true);
  expect(await spool.lease('eu', 'second', 10_000)).toBe(false);
  expect(await spool.lease('eu', 'first', 50)).toBe(true);
  await expect.poll(() => spool.lease('eu', 'second', 10_000)).toBe(true);
  expect(await spool.lease('eu', 'first', 10_000)).toBe(false);
});
