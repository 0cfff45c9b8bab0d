import { expect, test } from 'vitest';
import { loadDefaults, measured, planCapacity } from './plan-capacity.ts';

const valuesOf = (changes: Partial<typeof loadDefaults>) =>
  Object.fromEntries(
    Object.entries(planCapacity({ ...loadDefaults, ...changes })).map(([name, { value }]) => [name, value]),
  );

test('a load of known figures needs what division by hand gives', () => {
  const load = {
    eventsPerSecond: 100_000,
    batchShare: 0,
    utilisation: 0.5,
    outageMinutes: 10,
    clickhouseCores: 4,
    replicas: 2,
  };
  expect(valuesOf({ ...load, redisMemoryGib: 16, retentionDays: 100, sendBytes: 1_000 })).toMatchObject({
    collectors: 16, // 100,000 / 12,900 = 7.75 cores
    workers: 1,
    redisForCpu: 4, // 100,000 × 16.4 µs = 1.64 s of CPU a second
    redisMemory: expect.closeTo(8.83, 2), // 100,000 × 600 s × 158 bytes
    redisForMemory: 1,
    redis: 4,
    clickhouseShards: 2, // 59,500 rows a second on four cores of which half is used
    clickhouseNodes: 4,
    diskPerDay: expect.closeTo(0.7171, 4), // 100,000 × 86,400 × 83 bytes
    diskInAll: expect.closeTo(0.1434, 4),
    networkIn: 0.8,
  });
});

test('twice the load needs twice as much, no load nothing', () => {
  const [one, two] = [valuesOf({ eventsPerSecond: 1_000_000 }), valuesOf({ eventsPerSecond: 2_000_000 })];
  for (const name of ['collectors', 'workers', 'redis', 'clickhouseShards', 'diskPerDay', 'networkIn'])
    expect(Math.abs(Number(two[name]) - 2 * Number(one[name])), name).toBeLessThanOrEqual(1);
  expect(new Set(Object.values(valuesOf({ eventsPerSecond: 0 })))).toEqual(new Set([0]));
});

test('batches cost collectors and Redis less; a longer outage costs memory and no CPU', () => {
  const [single, batched] = [valuesOf({ batchShare: 0 }), valuesOf({ batchShare: 1 })];
  expect(Number(single.collectors) / Number(batched.collectors)).toBeCloseTo(
    measured.batchPerCore / measured.sendPerCore,
    0,
  );
  expect(batched.redisForCpu).toBeLessThan(Number(single.redisForCpu));
  const [short, long] = [valuesOf({ outageMinutes: 10 }), valuesOf({ outageMinutes: 100 })];
  expect(Number(long.redisMemory)).toBeCloseTo(10 * Number(short.redisMemory), 5);
  expect(long.redisForCpu).toBe(short.redisForCpu);
});
