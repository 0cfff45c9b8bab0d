import { afterAll, beforeAll, expect, test } from 'vitest';
import { type System, startSystem } from './system.ts';
import { underLoad, untilAccepted } from './under-load.ts';

const residentMaxBytes = 256 * 1_048_576;

let system: System;
beforeAll(async () => {
  system = await startSystem({ counts: { ingest: 2 }, env: { NODE_OPTIONS: '--max-old-space-size=160' } });
}, 120_000);
afterAll(() => system.stop());

test('with 160 MB of heap for each process none needs more than 256 MB, everything is stored once, and no process dies, also after ClickHouse was away for a while', async () => {
  const members = Object.values(system.members).flat();
  const memory: number[] = [];
  const look = async (): Promise<void> => {
    memory.push(...(await Promise.all(members.map((member) => member.residentBytes()))));
  };
  const { load, report } = await underLoad(
    system,
    async (running) => {
      await untilAccepted(running, 5_000);
      await look();
      system.proxies.clickhouse.goDown();
      await untilAccepted(running, 5_000);
      await look();
      system.proxies.clickhouse.goUp();
      await untilAccepted(running, 5_000);
      await look();
    },
    { senders: [1, 1, 1, 1, 100, 100, 500, 1_000] },
  );
  await look();
  console.log(`at most ${Math.round(Math.max(...memory) / 1_048_576)} MB`);
  // A machine that is busy with other things may make a collector refuse, but not lose.
  expect([...load.statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(report).toMatchObject({ lost: [], doubled: [], deadLettered: 0 });
  expect(Math.max(...memory)).toBeLessThan(residentMaxBytes);
  expect(members.map((member) => member.process().running())).toEqual(members.map(() => true));
}, 120_000);
