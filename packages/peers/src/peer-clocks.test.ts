import { expect, test } from 'vitest';
import { createPeerClocks } from './peer-clocks.ts';

const second = 1_000;
const minute = 60 * second;
/** Of a region whose clock is `behindMs` behind ours: `send` gives the way of a request that takes `tookMs`. */
function createRegion(behindMs: number) {
  const wayMs = createPeerClocks();
  let nowMs = Date.parse('2026-06-10T10:00:00Z');
  return {
    sleep: (ms: number) => (nowMs += ms),
    arrive: (tookMs: number) => wayMs('us', nowMs - tookMs - behindMs, nowMs),
    setBack: (ms: number) => (behindMs += ms),
  };
}

test.each([-14 * minute, -10 * second, 0, 90 * second, 14 * minute])(
  'a request that hung is known by those that did not, though the clock is %s ms behind',
  (behindMs) => {
    const us = createRegion(behindMs);
    us.arrive(10);
    us.sleep(10 * minute);
    const hung = [8 * minute, 2 * minute, 5 * second, 15].map((ms) => [us.arrive(ms), ms]);
    for (const [way = 0, ms = 0] of hung) expect(Math.abs(way - ms)).toBeLessThanOrEqual(10);
  },
);

test('of the first request clocks are held to be right, so that it may have hung for a minute; what is further apart is not', () => {
  expect(createRegion(0).arrive(30 * second)).toBe(30 * second);
  expect(createRegion(0).arrive(2 * minute)).toBe(0);
  expect(createRegion(-5 * minute).arrive(second)).toBe(0);
});

test('that a clock is some seconds behind is learnt in two minutes, and that it was set within two', () => {
  const us = createRegion(30 * second);
  const arriveFor = (minutes: number) => {
    for (let i = 0; i < 6 * minutes; i++) {
      us.sleep(10 * second + 1);
      us.arrive(20);
    }
    return us.arrive(20);
  };
  expect(us.arrive(20)).toBe(30 * second + 20);
  expect(arriveFor(3)).toBe(0);
  us.setBack(5 * minute);
  expect(us.arrive(20)).toBe(5 * minute);
  expect(arriveFor(3)).toBe(0);
  us.setBack(-5 * minute);
  expect(us.arrive(20)).toBe(0);
});
