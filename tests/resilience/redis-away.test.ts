import { type OwnRedis, startOwnRedis } from '@meridian/queue/test-redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { always, eventually, request } from '../api-client.ts';
import { type Member, type System, startSystem } from './system.ts';
import { underLoad, untilAccepted, untilRefused } from './under-load.ts';

const growthMaxBytes = 30_000_000;

let redis: OwnRedis;
let system: System;
let collector: Member;
beforeAll(async () => {
  redis = await startOwnRedis();
  // What V8 has yet to collect would hide what is kept.
  system = await startSystem({ redisUrl: redis.url, env: { NODE_OPTIONS: '--max-semi-space-size=2' } });
  const [first] = system.members.ingest;
  if (!first) throw new Error('no collector');
  collector = first;
}, 120_000);
afterAll(async () => {
  await system.stop();
  await redis.remove();
});

test('5,000 requests while Redis is down: each is told to come again, none is kept in memory or stored later, and then all goes on', async () => {
  let sentBefore = new Set<number>();
  let growth = 0;
  const { load, report } = await underLoad(
    system,
    async (running) => {
      await untilAccepted(running, 300); // what a collector needs for any request
      await redis.kill();
      await untilRefused(running, 3_000);
      sentBefore = new Set(running.refused);
      const before = await collector.residentBytes();
      await untilRefused(running, 5_000);
      growth = (await collector.residentBytes()) - before;
      await redis.start();
    },
    { senders: Array.from({ length: 20 }, () => 1), pauseMs: 0 },
  );
  console.log(`the collector grew by ${Math.round(growth / 1_000_000)} MB`);
  expect(growth).toBeLessThan(growthMaxBytes);
  expect([...load.statuses.keys()].sort()).toEqual([200, 503]);
  expect(load.unsound).toEqual([]);
  expect(report).toMatchObject({ lost: [], doubled: [], deadLettered: 0 });
  // What was under way when Redis was killed may have been done without an answer.
  expect(report.storedOfRefused.filter((n) => !sentBefore.has(n))).toEqual([]);
}, 120_000);

test('while Redis is down an API key is not counted, and asks as often as it likes', async () => {
  const websiteId = await system.newWebsite();
  const { key } = await system.api.ok<{ key: string }>('POST', '/me/api-keys', { name: 'outage' });
  const query = new URLSearchParams(Object.entries(always()).map(([name, at]): [string, string] => [name, String(at)]));
  const ask = () =>
    request('GET', `${system.caller.origin}/api/websites/${websiteId}/stats?${query}`, {
      headers: { authorization: `Bearer ${key}` },
    });
  await eventually(ask, (answer) => answer.headers.get('ratelimit-limit') === '50');
  await redis.kill();
  for (let n = 0; n < 60; n++) {
    const answer = await ask();
    expect([answer.status, answer.headers.get('ratelimit-limit')]).toEqual([200, null]);
  }
  await redis.start();
}, 60_000);

test('Redis takes a tenth of a second for every answer and more is sent than can be taken: the rest is refused', async () => {
  const { load, report } = await underLoad(
    system,
    async (running) => {
      system.proxies.redis.slowDown(100);
      await untilRefused(running, 15_000);
      system.proxies.redis.goUp();
    },
    { senders: Array.from({ length: 20 }, () => 1_000), pauseMs: 0 },
  );
  expect([...load.statuses.keys()].sort()).toEqual([200, 503]);
  expect(load.unsound).toEqual([]);
  expect(report).toMatchObject({ lost: [], doubled: [], deadLettered: 0 });
}, 180_000);
