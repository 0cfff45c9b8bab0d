import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createRedisClock } from './redis-clock.ts';

/** A Redis whose clock differs from ours by minutes. */
function redisAheadBy(aheadMs: number): { redis: Redis; asked: () => number } {
  let asked = 0;
  const time = async () => {
    asked += 1;
    const ms = performance.timeOrigin + performance.now() + aheadMs;
    return [String(Math.floor(ms / 1_000)), String(Math.floor((ms % 1_000) * 1_000))];
  };
  return { redis: { time } as unknown as Redis, asked: () => asked };
}

test.each([0, 600_000, -600_000])(
  'a deadline is a time of Redis’s clock, and never a later one (%d ms ahead)',
  async (aheadMs) => {
    const { redis } = redisAheadBy(aheadMs);
    const moment = performance.now() + 800;
    const deadline = await createRedisClock(redis).at(moment);
    const truth = performance.timeOrigin + moment + aheadMs;
    expect(deadline).toBeLessThanOrEqual(truth);
    expect(deadline).toBeGreaterThan(truth - 30_000);
  },
);

test('a slow answer does not spoil what a quick one has told', async () => {
  const { redis } = redisAheadBy(0);
  const clock = createRedisClock(redis);
  const before = await clock.at(0);
  const slowAnswerMs = performance.timeOrigin + performance.now() - 400;
  clock.observe(Math.floor(slowAnswerMs / 1_000), (slowAnswerMs % 1_000) * 1_000);
  expect(await clock.at(0)).toBe(before);
});

test('Redis is asked only when no answer has told its clock lately', async () => {
  const { redis, asked } = redisAheadBy(0);
  const clock = createRedisClock(redis);
  await clock.at(0);
  await clock.at(0);
  expect(asked()).toBe(1);
});
