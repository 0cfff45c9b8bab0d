import { createTestProxy, type TestProxy } from '@meridian/embedded/test-proxy';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type System, startSystem } from './system.ts';
import { exactlyOnce, underLoad, untilAccepted } from './under-load.ts';

let system: System;
let balancer: TestProxy;
beforeAll(async () => {
  system = await startSystem({ counts: { ingest: 2, worker: 2 } });
  balancer = await createTestProxy(...system.ingestPorts().map((port) => ({ host: '127.0.0.1', port })));
}, 60_000);
afterAll(async () => {
  await balancer.close();
  await system.stop();
});

test('two collectors and two workers are replaced one after the other, three times, under load: every request is a 200, every event is stored once', async () => {
  const { load, report } = await underLoad(
    system,
    async (running) => {
      for (let round = 0; round < 3; round++) {
        for (const member of [...system.members.ingest, ...system.members.worker]) {
          expect(await member.end('SIGTERM')).toBe(0);
          await member.start();
          await untilAccepted(running, 30);
        }
      }
    },
    { ports: [balancer.port] },
  );
  expect([...load.statuses.keys()]).toEqual([200]);
  expect(report).toMatchObject({ ...exactlyOnce, stored: load.accepted.size });
}, 180_000);
