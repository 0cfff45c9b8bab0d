import { expect, test } from 'vitest';
import { withinMs } from './within-ms.ts';

test('what comes in time is given as it is, a rejection too', async () => {
  expect(await withinMs(60_000, Promise.resolve(1), 'late')).toBe(1);
  expect(await withinMs(60_000, 2, 'late')).toBe(2);
  await expect(withinMs(60_000, Promise.reject(new Error('refused')), 'late')).rejects.toThrow('refused');
});

test('what does not come is waited for no longer, and its own rejection afterwards harms nobody', async () => {
  let reject: (error: Error) => void = () => {};
  const never = new Promise<number>((_, refuse) => {
    reject = refuse;
  });
  await expect(withinMs(1, never, 'no answer')).rejects.toThrow('no answer');
  reject(new Error('too late'));
  await new Promise(setImmediate);
});
