import { toLogBatch } from '@meridian/queue/log-batch';
import { expect, onTestFinished, test, vi } from 'vitest';
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
  const lease = holdBatch({ hold }, batch, { everyMs: 1, sureForMs: 3 });
  // The timers of Node run in order: each of these comes after more ticks of the lease.
  const ticks = () => new Promise((resolve) => setTimeout(resolve, 20));
  await ticks();
  expect(asked).toBe(1);
  answer(true);
  await expect.poll(() => asked).toBe(2);
  await ticks();
  expect([asked, openMax]).toEqual([2, 1]);
  answer(false);
  await expect(lease.confirm()).rejects.toThrow('belongs to another worker');
  lease.end();
});

test('a hold that fails is tried again', async () => {
  let asked = 0;
  const hold = async (): Promise<boolean> => {
    asked += 1;
    throw new Error('Redis is away');
  };
  const lease = holdBatch({ hold }, batch, { everyMs: 1, sureForMs: 3 });
  await expect.poll(() => asked).toBeGreaterThan(2);
  lease.end();
});

test('a batch is confirmed by a hold of not long ago, and else when Redis says so again, which is waited for', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let answer: Promise<boolean> = Promise.resolve(true);
  let asked = 0;
  const hold = (): Promise<boolean> => {
    asked += 1;
    return answer;
  };
  const lease = holdBatch({ hold }, batch, { everyMs: 3_600_000, sureForMs: 1_000 });
  onTestFinished(lease.end);
  await lease.confirm();
  vi.advanceTimersByTime(1_000);
  await lease.confirm();
  expect(asked).toBe(1);

  let reply = (_isHeld: boolean) => {};
  answer = new Promise((resolve) => {
    reply = resolve;
  });
  vi.advanceTimersByTime(1);
  const outcomes: string[] = [];
  const confirmed = lease.confirm().then(() => outcomes.push('confirmed'));
  await new Promise((resolve) => setImmediate(resolve));
  expect([asked, outcomes]).toEqual([2, []]);
  reply(true);
  await confirmed;

  vi.advanceTimersByTime(1_001);
  answer = Promise.resolve(false);
  await expect(lease.confirm()).rejects.toThrow('belongs to another worker');
});
