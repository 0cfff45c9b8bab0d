import { randomUUID } from 'node:crypto';
import { connectProducer, type OwnRedis, startOwnRedis } from '@meridian/queue/test-redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, startTestIngest } from './ingest-fixtures.ts';

let redis: OwnRedis;
let ingest: Awaited<ReturnType<typeof startTestIngest>>;
let website: string;
const registry = { isAway: false };

beforeAll(async () => {
  redis = await startOwnRedis();
  const findWebsiteStatus = async (websiteId: string) => {
    if (registry.isAway) throw new Error('the registry is away');
    return ingest.registry.findWebsiteStatus(websiteId);
  };
  ingest = await startTestIngest({}, { redisUrl: redis.url, findWebsiteStatus });
  website = await ingest.newWebsite();
});
afterAll(async () => {
  await ingest.stop();
  await redis.remove();
});

const event = (url: string, id = website) => ({ type: 'event', payload: { website: id, url } });
const untilTaken = () =>
  expect.poll(async () => (await ingest.send(event('/taken'))).status, { timeout: 20_000, interval: 100 }).toBe(200);

/** Every kind of request that would store something is told to come again. */
async function expectRefused(): Promise<void> {
  for (const reply of [
    await ingest.send(event('/refused')),
    await ingest.batch([event('/refused'), null]),
    await ingest.send(event('/refused'), { 'idempotency-key': randomUUID() }),
  ]) {
    expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([503, 'service-unavailable']);
    const retryAfter = Number(reply.headers['retry-after']);
    expect(retryAfter >= 1 && retryAfter <= 30).toBe(true);
    expect(reply.text).not.toMatch(/redis|ioredis|ECONN/i);
  }
}

test('while Redis is down every event is refused with Retry-After; afterwards events are taken, and none of the refused ones appears', async () => {
  await untilTaken();
  expect((await call(ingest.port, 'GET', '/readyz', undefined, {})).status).toBe(200);
  await redis.kill();
  await expectRefused();
  // It stays in service: who else would tell senders when to come again?
  const ready = await call(ingest.port, 'GET', '/readyz', undefined, {});
  expect([ready.status, JSON.parse(ready.text)]).toEqual([200, { ok: true, notReady: ['redis'] }]);
  expect((await call(ingest.port, 'GET', '/livez', undefined, {})).status).toBe(200);
  // What needs no storing is answered as ever.
  expect((await ingest.send('{')).status).toBe(400);
  expect((await ingest.batch([])).status).toBe(200);
  await redis.start();
  await untilTaken();
  expect((await ingest.storedEvents()).filter((stored) => stored.urlPath === '/refused')).toEqual([]);
});

test('while Redis hangs every event is refused, and is not stored when Redis goes on', async () => {
  await untilTaken();
  redis.signal('SIGSTOP');
  await expectRefused();
  redis.signal('SIGCONT');
  await untilTaken();
  expect((await ingest.storedEvents()).filter((stored) => stored.urlPath === '/refused')).toEqual([]);
});

test('while the log is above its high-water mark every event is refused, and taken again when the workers have made room', async () => {
  await untilTaken();
  const admin = await connectProducer(redis.url);
  await admin.config('SET', 'maxmemory', '32mb');
  const asIfEvents = Array.from({ length: 24 }, (_, i) => `as-if-events:${i}`);
  for (const key of asIfEvents) await admin.set(key, Buffer.alloc(1_000_000));
  await expect.poll(async () => (await ingest.send(event('/last'))).status, { timeout: 10_000 }).toBe(503);
  await expectRefused();
  await admin.del(asIfEvents);
  await untilTaken();
  await admin.config('SET', 'maxmemory', '0');
  admin.disconnect();
});

test('while the registry is away known websites take events, and others are told to come again, not that they are unknown', async () => {
  await untilTaken();
  const unseen = await ingest.newWebsite();
  registry.isAway = true;
  expect((await ingest.send(event('/known'))).status).toBe(200);
  const reply = await ingest.send(event('/unseen', unseen));
  expect([reply.status, reply.headers['retry-after']]).toEqual([503, '5']);
  const batch = JSON.parse((await ingest.batch([event('/known'), event('/unseen', unseen)])).text);
  expect([batch.processed, batch.errors, batch.details[0].response.error.code]).toEqual([1, 1, 'service-unavailable']);
  // A key would bind later tries to this answer.
  const key = { 'idempotency-key': randomUUID() };
  const keyed = () => ingest.batch([event('/keyed'), event('/keyed', unseen)], key);
  expect((await keyed()).status).toBe(503);
  registry.isAway = false;
  expect((await ingest.send(event('/unseen', unseen))).status).toBe(200);
  for (let tries = 1; tries <= 2; tries++) expect(JSON.parse((await keyed()).text)).toMatchObject({ processed: 2 });
  expect((await ingest.storedEvents()).filter((stored) => stored.urlPath === '/keyed')).toHaveLength(2);
});
