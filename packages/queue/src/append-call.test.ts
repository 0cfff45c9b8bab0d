import { expect, test } from 'vitest';
import { createAppendCall, type UnitAnswer } from './append-call.ts';
import { createByteWriters } from './byte-writer.ts';
import { eventsKey } from './log-keys.ts';
import type { Append, AppendResult } from './placement.ts';
import { pendingEvent } from './test-events.ts';
import { writeUuid } from './uuid-bytes.ts';
import { createUuidV7Minter } from './uuid-v7.ts';

const visitId = '019eb10d-d800-7abc-8def-0123456789ab';
const placements = [{ event: pendingEvent() }];
const idempotent = (key: string): Append => ({ placements, idempotency: { key, bodyHash: 'h', draft: 'd' } });

const visitIds = new Uint8Array(16);
writeUuid(visitIds, 0, visitId);
const lastAtMs = new Float64Array([1_781_085_600_000]);
const appended = (): UnitAnswer => {
  const visit = Buffer.alloc(24);
  visit.set(visitIds);
  visit.writeDoubleBE(1_781_085_600_000, 16);
  return [Buffer.from('appended'), visit];
};
const result = { ok: true, visitIds, lastAtMs };

/** A call with one plain and two idempotent appends, which make three units. */
function threeUnits() {
  const call = createAppendCall({
    partitions: 1,
    writers: createByteWriters(),
    ids: createUuidV7Minter(),
    backfillBeforeMs: 0,
  });
  const results = [{ placements }, idempotent('a'), idempotent('b')].map(
    (append) => new Promise<AppendResult>((resolve, reject) => call.add(append, { resolve, reject })),
  );
  return { call, outcomes: () => Promise.all(results.map((result) => result.catch((error: Error) => error.message))) };
}

test('an append whose answer makes no sense is rejected; the others of its call get theirs', async () => {
  const { call, outcomes } = threeUnits();
  const unreadable: UnitAnswer = [Buffer.from('repeated'), Buffer.from('d'), Buffer.alloc(24)];
  call.settle([appended(), unreadable, appended()]);
  expect(await outcomes()).toEqual([result, expect.stringContaining('makes no sense'), result]);
});

test('an append without an answer is rejected', async () => {
  const { call, outcomes } = threeUnits();
  call.settle([appended(), appended()]);
  expect((await outcomes())[2]).toContain('makes no sense');
});

test('a call that fails rejects what has no result yet, and changes no result', async () => {
  const { call, outcomes } = threeUnits();
  call.settle([appended()]);
  call.fail(new Error('away'));
  expect((await outcomes())[0]).toEqual(result);

  const other = threeUnits();
  other.call.fail(new Error('away'));
  other.call.settle([appended(), appended(), appended()]);
  expect(await other.outcomes()).toEqual(['away', 'away', 'away']);
});

test('the record of an idempotent append is found by its key, whatever events it brings', () => {
  const recordOf = (websiteIds: string[]): string | undefined => {
    const call = createAppendCall({
      partitions: 256,
      writers: createByteWriters(),
      ids: createUuidV7Minter(),
      backfillBeforeMs: 0,
    });
    const events = websiteIds.map((websiteId) => ({ event: pendingEvent({ websiteId }) }));
    call.add({ ...idempotent('a'), placements: events }, { resolve: () => {}, reject: () => {} });
    return call.command().keys[1];
  };
  const [first, second] = ['0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f50', '0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f51'] as const;
  expect([recordOf([first, second]), recordOf([second]), recordOf([])]).toEqual(Array(3).fill(recordOf([first])));
});

test('a batch over the border of the lanes is written behind its older events, and many of them share their entries', () => {
  const call = createAppendCall({
    partitions: 1,
    writers: createByteWriters(),
    ids: createUuidV7Minter(),
    backfillBeforeMs: 2,
  });
  const add = (...times: number[]) =>
    call.add(
      { placements: times.map((createdAtMs) => ({ event: pendingEvent({ createdAtMs }) })) },
      { resolve: () => {}, reject: () => {} },
    );
  add(2);
  for (let n = 0; n < 100; n++) add(3, 1);
  for (let n = 0; n < 100; n++) add(n % 2 ? 3 : 1);
  expect(call.command().keys.slice(1)).toEqual([eventsKey(0), eventsKey(0, 'backfill'), eventsKey(0)]);
});
