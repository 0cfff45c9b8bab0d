import { expect, test, vi } from 'vitest';
import { checkReadiness, untilFirstSuccess } from './health.ts';

test('what fails and what does not answer in time is named', async () => {
  const checks = {
    works: async () => {},
    fails: () => Promise.reject(new Error()),
    hangs: () => new Promise(() => {}),
  };
  expect(await checkReadiness(checks, 20)).toEqual({ ok: false, notReady: ['fails', 'hangs'] });
});

test('a check that counts until its first success fails until then, and never again', async () => {
  const check = vi.fn(() => Promise.reject(new Error()));
  const once = untilFirstSuccess(check);
  await expect(once()).rejects.toThrow();
  check.mockImplementationOnce(() => Promise.resolve() as Promise<never>);
  await once();
  await once();
});
