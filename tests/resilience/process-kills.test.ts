import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkLoad } from './checker.ts';
import { startNumberedLoad } from './numbered-load.ts';
import { type Member, type System, startSystem } from './system.ts';
import { exactlyOnce, underLoad } from './under-load.ts';

const kills = 20;
let system: System;
beforeAll(async () => {
  system = await startSystem({ counts: { ingest: 2, worker: 2 } });
}, 120_000);
afterAll(() => system.stop());

async function killAndReplace(member: Member | undefined): Promise<void> {
  await member?.end('SIGKILL');
  await member?.start();
}

test(`${kills} workers and ${kills} collectors are killed with SIGKILL under load: what was accepted is stored once, and so is what a sender repeats`, async () => {
  const careful = await system.newWebsite();
  const repeated = startNumberedLoad({
    ports: system.ingestPorts(),
    websiteId: careful,
    senders: [1, 5],
    repeat: true,
  });
  const { load, report } = await underLoad(system, async () => {
    for (let kill = 0; kill < kills; kill++) {
      await delay(randomInt(100, 900));
      await Promise.all([
        killAndReplace(system.members.worker[kill % 2]),
        killAndReplace(system.members.ingest[kill % 2]),
      ]);
    }
    await repeated.stop();
  });
  expect(report).toMatchObject(exactlyOnce);
  expect(load.unknown.size).toBeGreaterThan(0); // else no collector was hit at work
  const ofRepeated = await checkLoad(system, careful, repeated);
  expect(ofRepeated).toMatchObject({ ...exactlyOnce, stored: repeated.accepted.size });
}, 180_000);
