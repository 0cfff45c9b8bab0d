import { expect, test } from 'vitest';
import { untilStopped } from './until-stopped.ts';

const never = new Promise<never>(() => {});
const stopped = AbortSignal.abort(new Error('stopping'));

test('the outcome is waited for, also when the signal is aborted and it comes in time', async () => {
  const stopSignal = new AbortController().signal;
  expect(await untilStopped(Promise.resolve(1), { stopSignal, graceMs: 0 })).toBe(1);
  expect(await untilStopped(Promise.resolve(1), { stopSignal: stopped, graceMs: 60_000 })).toBe(1);
  await expect(untilStopped(Promise.reject(new Error('bad')), { stopSignal, graceMs: 0 })).rejects.toThrow('bad');
});

test('what does not come is given up when the signal is aborted, before or meanwhile', async () => {
  await expect(untilStopped(never, { stopSignal: stopped, graceMs: 1 })).rejects.toThrow('stopping');
  const stop = new AbortController();
  const waiting = untilStopped(never, { stopSignal: stop.signal, graceMs: 1 });
  stop.abort(new Error('stopping'));
  await expect(waiting).rejects.toThrow('stopping');
});
