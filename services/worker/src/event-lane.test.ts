import { type LogBatch, toLogBatch } from '@meridian/queue/log-batch';
import { pendingEvent, rowsOf } from '@meridian/queue/test-events';
import { createLogger } from '@meridian/runtime/logger';
import { expect, test } from 'vitest';
import { runEventLane } from './event-lane.ts';

const batchOf = (token: string, events: number): LogBatch => ({
  ...toLogBatch('live', [], false, token),
  rows: rowsOf(Array.from({ length: events }, () => pendingEvent())),
});

/** A lane over the given batches, whose every write waits for `finish`. */
function startLane(batches: LogBatch[]) {
  const [read, begun, written, held]: [string[], string[], string[], Set<string>] = [[], [], [], new Set()];
  const stop = new AbortController();
  const finishes: (() => void)[] = [];
  const done = runEventLane(
    {
      consumer: {
        async next() {
          await new Promise((resolve) => setImmediate(resolve));
          const batch = batches.shift() ?? null;
          if (batch) read.push(batch.token);
          return batch;
        },
        async hold({ token }) {
          held.add(token);
          return true;
        },
        leave: async () => {},
      },
      async writeBatch({ token }) {
        begun.push(token);
        await new Promise<void>((resolve) => finishes.push(resolve));
        written.push(token);
      },
      limits: { eventsMax: 2, maxWaitMs: 10 },
      holdTimes: { everyMs: 1, sureForMs: 3 },
      logger: createLogger({ service: 'worker', level: 'silent' }),
    },
    stop.signal,
  );
  return { read, begun, written, held, done, stop: () => stop.abort(), finish: () => finishes.shift()?.() };
}

test('while a full batch is stored the next one is read and held, one and no more, and not stored before its turn', async () => {
  const lane = startLane([batchOf('a', 2), batchOf('b', 2), batchOf('c', 2)]);
  await expect.poll(() => [...lane.held].sort()).toEqual(['a', 'b']);
  expect([lane.read, lane.begun]).toEqual([['a', 'b'], ['a']]);
  lane.finish();
  await expect.poll(() => lane.begun).toEqual(['a', 'b']);
  await expect.poll(() => lane.read).toEqual(['a', 'b', 'c']);
  lane.stop();
  lane.finish();
  await expect.poll(() => lane.begun).toEqual(['a', 'b', 'c']);
  lane.finish();
  await lane.done;
  expect(lane.written).toEqual(['a', 'b', 'c']);
});

test('behind a batch that is not full nothing is read until it is stored', async () => {
  const lane = startLane([batchOf('a', 1), batchOf('b', 1)]);
  await expect.poll(() => lane.held.has('a')).toBe(true);
  expect(lane.read).toEqual(['a']);
  lane.stop();
  lane.finish();
  await lane.done;
  expect([lane.read, lane.written]).toEqual([['a'], ['a']]);
});
