import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { createAppendCall } from './append-call.ts';
import { createByteWriters } from './byte-writer.ts';
import { jobQueueName, jobQueuePrefix } from './job-queue.ts';
import { deadLettersKey, eventCountsKey, eventsKey, idempotencyKey, partitionOf } from './log-keys.ts';
import { pendingEvent } from './test-events.ts';
import { createUuidV7Minter } from './uuid-v7.ts';
import { visitsKey } from './visit-state.ts';

/** The slot of a key in a Redis Cluster, as ioredis computes it. */
const ofRedis = createRequire(createRequire(import.meta.url).resolve('ioredis'));
const slotOf: (key: string | Buffer) => number = ofRedis('cluster-key-slot');
const slotsOf = (keys: readonly (string | Buffer)[]): number[] => [...new Set(keys.map((key) => slotOf(key)))];

const partitions = 8;
const settle = { resolve() {}, reject() {} };

/** A website whose events lie in the partition. */
function websiteIn(partition: number): string {
  for (;;) {
    const websiteId = randomUUID();
    if (partitionOf(websiteId, partitions) === partition) return websiteId;
  }
}

test('what belongs to a partition has one slot, another one than that of every other partition', () => {
  const slots = Array.from({ length: partitions }, (_, partition) => {
    const visits = visitsKey({ websiteId: websiteIn(partition), sessionId: randomUUID() }, partitions);
    return slotsOf([eventsKey(partition), deadLettersKey(partition), idempotencyKey(partition, 'send:x:y'), visits]);
  });
  expect(slots.map(({ length }) => length)).toEqual(slots.map(() => 1));
  expect(new Set(slots.flat()).size).toBe(partitions);
});

test('a call with events of one website has the slot of its partition, but for the counts; with events of several it has several', () => {
  const keysOf = (websiteIds: string[]): (string | Buffer)[] => {
    const call = createAppendCall({
      partitions,
      writers: createByteWriters(),
      ids: createUuidV7Minter(),
      backfillBeforeMs: 0,
    });
    for (const websiteId of websiteIds)
      call.add({ placements: [{ event: pendingEvent({ websiteId, sessionId: randomUUID() }) }] }, settle);
    const { keys } = call.command();
    expect(keys[0]).toBe(eventCountsKey);
    return keys.slice(1);
  };
  const website = websiteIn(3);
  expect(slotsOf(keysOf([website, website]))).toEqual(slotsOf([eventsKey(3)]));
  expect(slotsOf(keysOf([website, websiteIn(4)]))).toHaveLength(2);
});

test('all keys of the jobs have one slot', () => {
  expect(
    slotsOf(['wait', 'active', '17', '17:lock'].map((key) => `${jobQueuePrefix}:${jobQueueName}:${key}`)),
  ).toHaveLength(1);
});

test('websites and idempotency keys spread over all partitions evenly', () => {
  const counts = Array.from({ length: partitions }, () => 0);
  for (let n = 0; n < 8_000; n++) {
    const partition = partitionOf(randomUUID(), partitions);
    counts[partition] = (counts[partition] ?? 0) + 1;
  }
  for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(200);
});
