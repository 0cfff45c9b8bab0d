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

test('nothing is confirmed by what was heard too long ago: Redis is asked again, and waited for', async () => {
  let answer: Promise<boolean> = Promise.resolve(true);
  let asked = 0;
  const hold = (): Promise<boolean> => {
    asked += 1;
    return answer;
  };
  const lease = holdBatch({ hold }, batch, 20);
  await lease.confirm();
  expect(asked).toBe(0);

  let reply = (_isHeld: boolean) => {};
  answer = new Promise((resolve) => {
    reply = resolve;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  let isConfirmed = false;
  const confirmed = lease.confirm().then(() => {
    isConfirmed = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([asked, isConfirmed]).toEqual([1, false]);
  answer = Promise.resolve(true);
  reply(true);
  await confirmed;

  answer = Promise.resolve(false);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await expect(lease.confirm()).rejects.toThrow('belongs to another worker');
  lease.end();
});
