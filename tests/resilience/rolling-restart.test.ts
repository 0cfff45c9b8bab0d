import { setTimeout as delay } from 'node:timers/promises';
import { createTestProxy, type TestProxy } from '@meridian/embedded/test-proxy';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { request } from '../api-client.ts';
import { type System, startSystem } from './system.ts';
import { exactlyOnce, underLoad, untilAccepted } from './under-load.ts';

const lookEveryMs = 100;
let system: System;
let balancer: TestProxy;
let isOver = false;
beforeAll(async () => {
  system = await startSystem({ counts: { ingest: 2, worker: 2 }, env: { STOP_DELAY_MS: '2000' } });
  balancer = await createTestProxy(...targets(system.ingestPorts()));
  void keepToReadyOnes();
}, 120_000);
afterAll(async () => {
  isOver = true;
  await balancer.close();
  await system.stop();
});

const targets = (ports: number[]) => ports.map((port) => ({ host: '127.0.0.1', port }));

/** What a load balancer does: asks its targets whether they are ready, and leaves out those that are not. */
async function keepToReadyOnes(): Promise<void> {
  while (!isOver) {
    const ports = await Promise.all(
      system.ingestPorts().map((port) =>
        request('GET', `http://127.0.0.1:${port}/readyz`).then(
          ({ status }) => (status === 200 ? [port] : []),
          () => [],
        ),
      ),
    );
    balancer.setTargets(targets(ports.flat()));
    await delay(lookEveryMs);
  }
}

test('two collectors and two workers are replaced one after the other, three times, under load: every request is a 200, every event is stored once', async () => {
  const { load, report } = await underLoad(
    system,
    async (running) => {
      for (let round = 0; round < 3; round++) {
        for (const member of [...system.members.ingest, ...system.members.worker]) {
          expect(await member.end('SIGTERM')).toBe(0);
          await member.start();
          await system.untilReady(member);
          await untilAccepted(running, 30);
        }
      }
    },
    { ports: [balancer.port] },
  );
  expect([...load.statuses.keys()]).toEqual([200]);
  expect(report).toMatchObject({ ...exactlyOnce, stored: load.accepted.size });
}, 180_000);
