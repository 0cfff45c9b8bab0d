import { expect, test } from 'vitest';
import { createStallCheck } from './stall-check.ts';

const check = (idleMs: number, lagMs: number) =>
  createStallCheck({
    lastEndedAt: () => 1_000,
    lagMs: async () => lagMs,
    stallMaxMs: 30_000,
    now: () => 1_000 + idleMs,
  })();

test('a worker that has ended nothing for longer than the limit while older events wait is not ready', async () => {
  await expect(check(30_001, 30_100)).rejects.toThrow();
});

test('a worker that works off a long log is ready', async () => {
  await expect(check(30_000, 3_600_000)).resolves.toBeUndefined();
});

test('a worker without work is ready: the log is empty, or its events are young', async () => {
  await expect(check(3_600_000, 0)).resolves.toBeUndefined();
  await expect(check(3_600_000, 30_000)).resolves.toBeUndefined();
});

test('a worker that cannot be told whether events wait is not ready', async () => {
  const asked = createStallCheck({
    lastEndedAt: () => 0,
    lagMs: () => Promise.reject(new Error('Redis is away')),
    stallMaxMs: 1,
    now: () => 10,
  });
  await expect(asked()).rejects.toThrow();
});
