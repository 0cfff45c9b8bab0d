import { type OwnRedis, startOwnRedis } from '@meridian/queue/test-redis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { always, eventually, request, type Stats } from '../api-client.ts';
import { untilLogIsEmpty } from './checker.ts';
import { type System, startSystem } from './system.ts';
import { exactlyOnce, underLoad, untilAccepted, untilRefused } from './under-load.ts';

let redis: OwnRedis;
let system: System;
beforeAll(async () => {
  redis = await startOwnRedis();
  system = await startSystem({ redisUrl: redis.url });
}, 120_000);
afterEach(() => system.proxies.redis.goUp());
afterAll(async () => {
  await system.stop();
  await redis.remove();
});

/**
 * A load during which Redis is in trouble: what cannot be kept is refused with 503 and Retry-After, what is accepted is
 * stored once.
 */
async function expectNothingLost(trouble: Parameters<typeof underLoad>[1]) {
  const { load, report } = await underLoad(system, trouble);
  expect([...load.statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(load.unsound).toEqual([]);
  expect(report).toMatchObject({ lost: [], doubled: [], deadLettered: 0 });
  return { load, report };
}

// A Redis that ends may have done what it no longer answered: only then may a refused event be stored.
test.each(['SIGTERM', 'SIGKILL'] as const)(
  'Redis ends by %s and comes back, five times under load: collectors and workers go on by themselves, and everything accepted is stored once',
  (signal) =>
    expectNothingLost(async (load) => {
      for (let round = 0; round < 5; round++) {
        await redis.kill(signal);
        await untilRefused(load, 30);
        await redis.start();
        await untilAccepted(load, 200);
      }
    }).then(() => undefined),
  120_000,
);

test('while Redis is down statistics are answered', async () => {
  const { websiteId } = await underLoad(system, (load) => untilAccepted(load, 50));
  await redis.kill();
  const stats = await system.api.get<Stats>(`/websites/${websiteId}/stats`, always());
  expect(stats.pageviews).toBeGreaterThan(0);
  await redis.start();
}, 60_000);

test('Redis hangs and goes on under load: nothing is lost or doubled', async () => {
  await expectNothingLost(async (load) => {
    redis.signal('SIGSTOP');
    await untilRefused(load, 60);
    redis.signal('SIGCONT');
  });
}, 120_000);

test.each([
  [
    'has too few replicas',
    ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
    ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
  ],
  ['becomes a replica that is read only', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
] as const)(
  'Redis %s and refuses writes: events are refused, none of the refused ones is stored, and all goes on when it takes writes again',
  async (_, [begin, ...beginWith], [end, ...endWith]) => {
    const { load, report } = await expectNothingLost(async (running) => {
      await system.redis.call(begin, ...beginWith);
      await untilRefused(running, 100);
      await system.redis.call(end, ...endWith);
    });
    expect(report).toMatchObject({ ...exactlyOnce, stored: load.accepted.size });
  },
  120_000,
);

test('Redis takes a tenth of a second for every answer: events are accepted', async () => {
  const { load } = await expectNothingLost(async (running) => {
    system.proxies.redis.slowDown(100);
    await untilAccepted(running, 500);
  });
  expect([...load.statuses.keys()]).toEqual([200]);
}, 120_000);

test('the log fills Redis while ClickHouse is down: events are refused before it is full, and the workers drain it unaided', async () => {
  const limit = 6_000_000;
  const used = Number(/used_memory:(\d+)/.exec(await system.redis.info('memory'))?.[1]);
  await system.redis.config('SET', 'maxmemory', String(used + limit));
  const { load, report } = await underLoad(
    system,
    async (running) => {
      system.proxies.clickhouse.goDown();
      await untilRefused(running, 1_000);
      const memory = await system.redis.info('memory');
      expect(Number(/used_memory:(\d+)/.exec(memory)?.[1])).toBeLessThan(used + limit);
      expect(await system.redis.info('errorstats')).not.toMatch(/OOM/);
      system.proxies.clickhouse.goUp();
    },
    { senders: [200, 200, 200, 200], pauseMs: 20 },
  );
  expect(load.statuses.get(503)).toBeGreaterThan(0);
  expect(load.unsound).toEqual([]);
  expect(report).toMatchObject({ ...exactlyOnce, stored: load.accepted.size });
  await untilLogIsEmpty(system);
  await system.redis.config('SET', 'maxmemory', '0');
}, 180_000);

test('an event whose answer was lost and that is sent again under its Idempotency-Key is stored once', async () => {
  const website = await system.newWebsite();
  const { ingest } = system.members;
  const url = `http://127.0.0.1:${ingest[0]?.port}/api/send`;
  const send = (n: number) =>
    request('POST', url, {
      headers: { 'user-agent': 'resilience', 'idempotency-key': `key-${n}` },
      body: { type: 'event', payload: { website, url: `/n/${n}`, data: { n } } },
    });
  for (let n = 0; n < 20; n++) {
    system.proxies.redis.loseAnswers(1);
    await eventually(
      () => send(n),
      (answer) => answer.status === 200,
    );
  }
  await untilLogIsEmpty(system);
  await eventually(
    () => system.api.get<Stats>(`/websites/${website}/stats`, always()),
    (stats) => stats.pageviews === 20,
  );
}, 60_000);
