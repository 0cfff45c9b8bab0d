import { consumerGroup, eventsKey, partitionOf } from '@meridian/queue/log-keys';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkLoad } from './checker.ts';
import { startNumberedLoad } from './numbered-load.ts';
import { type System, startSystem } from './system.ts';
import { exactlyOnce } from './under-load.ts';

const partitions = 8;
const loadMs = 8_000;
let system: System;

beforeAll(async () => {
  system = await startSystem({ counts: { ingest: 2, worker: 3 }, partitions });
}, 180_000);
afterAll(() => system.stop());

/** Until every partition has a website. */
async function websitesInAllPartitions(): Promise<string[]> {
  const websites: string[] = [];
  while (new Set(websites.map((id) => partitionOf(id, partitions))).size < partitions)
    websites.push(await system.newWebsite());
  return websites;
}

/** Which consumers hold entries, and of which partitions, at this moment. */
async function lookAtConsumers(busy: Map<string, Set<number>>): Promise<void> {
  for (let partition = 0; partition < partitions; partition++) {
    const [, , , consumers] = (await system.redis.xpending(eventsKey(partition), consumerGroup).catch(() => [])) as [
      number?,
      string?,
      string?,
      [string, string][]?,
    ];
    for (const [name] of consumers ?? []) busy.set(name, (busy.get(name) ?? new Set()).add(partition));
  }
}

test('two collectors and three workers share eight partitions: nothing is lost or doubled, every worker works, on more than one partition', async () => {
  const websites = await websitesInAllPartitions();
  const loads = websites.map((websiteId, n) => ({
    websiteId,
    load: startNumberedLoad({
      ports: system.ingestPorts(),
      websiteId,
      senders: [1, 3],
      pauseMs: 200,
      repeat: n % 2 === 0,
    }),
  }));
  const busy = new Map<string, Set<number>>();
  for (const endAt = performance.now() + loadMs; performance.now() < endAt; ) await lookAtConsumers(busy);
  await Promise.all(loads.map(({ load }) => load.stop()));
  for (const { websiteId, load } of loads) {
    expect(load.accepted.size).toBeGreaterThan(10);
    expect(await checkLoad(system, websiteId, load)).toMatchObject({ ...exactlyOnce, stored: load.accepted.size });
  }
  expect(busy.size).toBe(3);
  for (const held of busy.values()) expect(held.size).toBeGreaterThan(1);
}, 180_000);
