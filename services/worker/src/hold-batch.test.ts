import { toLogBatch } from '@meridian/queue/log-batch';
import { expect, test } from 'vitest';
import { holdBatch } from './hold-batch.ts';

const batch = toLogBatch('live', [], false);

test('a batch is held again and again, but never asked for while an answer is missing', async () => {
  let [asked, open, openMax, answer] = [0, 0, 0, (_isHeld: boolean) => {}];
  const hold = (): Promise<boolean> => {
    asked += 1;
    open += 1;
    openMax = Math.max(openMax, open);
    return new Promise((resolve) => {
      answer = (isHeld) => {
        open -= 1;
        resolve(isHeld);
      };
    });
  };
  const lease = holdBatch({ hold }, batch, 1);
  // The timers of Node run in order: each of these comes after more ticks of the lease.
  const ticks = () => new Promise((resolve) => setTimeout(resolve, 20));
  await ticks();
  expect(asked).toBe(1);
  answer(true);
  await expect.poll(() => asked).toBe(2);
  await ticks();
  expect([asked, openMax]).toEqual([2, 1]);
  expect(lease.lost.aborted).toBe(false);
  answer(false);
  await expect.poll(() => lease.lost.aborted).toBe(true);
  lease.end();
});

test('a hold that fails is tried again', async () => {
  let asked = 0;
  const hold = async (): Promise<boolean> => {
    asked += 1;
    throw new Error('Redis is away');
  };
  const lease = holdBatch({ hold }, batch, 1);
  await expect.poll(() => asked).toBeGreaterThan(2);
  expect(lease.lost.aborted).toBe(false);
  lease.end();
});
