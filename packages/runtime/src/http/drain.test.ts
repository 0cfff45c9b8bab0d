import { expect, test } from 'vitest';
import { createReadiness } from '../health.ts';
import { createDrain } from './drain.ts';

test('a process is ready until it begins to stop', async () => {
  const { check, drain } = createDrain(0);
  const readiness = createReadiness({ own: { stopping: check } });
  expect(await readiness()).toEqual({ ok: true, notReady: [] });
  const drained = drain();
  expect(await readiness()).toEqual({ ok: false, notReady: ['stopping'] });
  await drained;
});
