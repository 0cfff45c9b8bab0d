import { expect, test, vi } from 'vitest';
import { createReadiness } from './health.ts';

const works = async () => {};
const fails = () => Promise.reject(new Error());

test('what fails and what does not answer in time is named', async () => {
  const own = { works, fails, hangs: () => new Promise(() => {}) };
  expect(await createReadiness({ own }, 20)()).toEqual({ ok: false, notReady: ['fails', 'hangs'] });
});

test('a store counts until it is reached for the first time; from then on its absence is only told', async () => {
  const store = vi.fn(fails);
  const readiness = createReadiness({ own: { works }, stores: { store } });
  expect(await readiness()).toEqual({ ok: false, notReady: ['store'] });
  store.mockImplementationOnce(works as () => Promise<never>);
  expect(await readiness()).toEqual({ ok: true, notReady: [] });
  expect(await readiness()).toEqual({ ok: true, notReady: ['store'] });
});

test('those who ask while a check runs share it', async () => {
  const store = vi.fn(works);
  const readiness = createReadiness({ own: { works: store } });
  const told = await Promise.all(Array.from({ length: 5_000 }, readiness));
  expect([told.every(({ ok }) => ok), store.mock.calls.length]).toEqual([true, 1]);
  await readiness();
  expect(store).toHaveBeenCalledTimes(2);
});
