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
