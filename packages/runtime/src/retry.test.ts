import { expect, test } from 'vitest';
import { retry } from './retry.ts';

class PassingError extends Error {}
const isWorthRetrying = (error: unknown): boolean => error instanceof PassingError;
const failing = (times: number, error: Error) => {
  let attempts = 0;
  return async () => {
    attempts += 1;
    if (attempts <= times) throw error;
    return attempts;
  };
};

test('an attempt is repeated until it succeeds, and every failure is told', async () => {
  const told: number[] = [];
  const signal = new AbortController().signal;
  const onRetry = (_: unknown, attempts: number) => told.push(attempts);
  expect(await retry(failing(2, new PassingError()), { isWorthRetrying, onRetry, signal })).toBe(3);
  expect(told).toEqual([1, 2]);
});

test('an error that does not pass ends it at once', async () => {
  const signal = new AbortController().signal;
  const told: unknown[] = [];
  const attempt = failing(1, new Error('for good'));
  await expect(retry(attempt, { isWorthRetrying, onRetry: (e) => told.push(e), signal })).rejects.toThrow('for good');
  expect(told).toEqual([]);
});

test('a pause ends when the signal is aborted, with its reason', async () => {
  const stop = new AbortController();
  const onRetry = () => stop.abort(new Error('stopping'));
  await expect(
    retry(failing(9, new PassingError()), { isWorthRetrying, onRetry, signal: stop.signal }),
  ).rejects.toThrow('stopping');
});

test('the first attempt is made also when the signal is aborted already: what can be finished is', async () => {
  const signal = AbortSignal.abort(new Error('stopping'));
  expect(await retry(failing(0, new PassingError()), { isWorthRetrying, onRetry: () => {}, signal })).toBe(1);
});
