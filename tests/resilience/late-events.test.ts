import { eventsKey } from '@meridian/queue/log-keys';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chrome } from '../api-client.ts';
import { accepted, loggedEvents, post, statsOf } from '../collector.ts';
import { untilLogIsEmpty } from './checker.ts';
import { type System, startSystem } from './system.ts';

let system: System;
beforeAll(async () => {
  system = await startSystem();
}, 120_000);
afterAll(() => system.stop());

const log = eventsKey(0);

const send = async (websiteId: string, url: string, more: object = {}) =>
  accepted(
    await post(
      `http://127.0.0.1:${system.members.ingest[0]?.port}/api/send`,
      { 'user-agent': chrome, 'content-type': 'application/json' },
      { type: 'event', payload: { website: websiteId, url, ...more } },
    ),
  );

async function whileNoWorkerRuns<Value>(act: () => Promise<Value>): Promise<Value> {
  const [worker] = system.members.worker;
  await worker?.end('SIGTERM');
  const value = await act();
  await worker?.start();
  return value;
}

/** Takes every entry out of the log, in its order. */
async function takeEntries(): Promise<Buffer[][]> {
  const entries = await system.redis.xrangeBuffer(log, '-', '+');
  await system.redis.xdel(log, ...entries.map(([id]) => id));
  return entries.map(([, fields]) => fields);
}

test('events that are stored late and last first have the times at which they happened, and no answer on the way is less than nothing', async () => {
  const websiteId = await system.newWebsite();
  const start = Math.floor(Date.now() / 1_000) - 60;
  const entries = await whileNoWorkerRuns(async () => {
    for (const i of [0, 1, 2]) await send(websiteId, `/${i + 1}`, { timestamp: start + i });
    return takeEntries();
  });
  expect(entries).toHaveLength(3);
  for (const [stored, fields] of entries.toReversed().entries()) {
    await system.redis.xadd(log, '*', ...fields);
    await untilLogIsEmpty(system); // an event is in the public event log a moment before the rollups have it
    expect(await statsOf(system.api, websiteId)).toEqual({
      pageviews: stored + 1,
      visitors: 1,
      visits: 1,
      bounces: stored === 0 ? 1 : 0,
      totaltime: stored,
    });
  }
  const events = await loggedEvents(system.api, websiteId, 3);
  expect(events.map(({ urlPath, createdAt }) => [urlPath, Date.parse(createdAt) / 1_000])).toEqual([
    ['/1', start],
    ['/2', start + 1],
    ['/3', start + 2],
  ]);
});

test('an event without a time of its own has that of its collection, however long it waits in the log', async () => {
  const websiteId = await system.newWebsite();
  const [from, until] = await whileNoWorkerRuns(async () => {
    const before = Date.now();
    await send(websiteId, '/');
    return [before, Date.now()];
  });
  const [event] = await loggedEvents(system.api, websiteId, 1);
  const at = Date.parse(event?.createdAt ?? '');
  expect(at).toBeGreaterThanOrEqual(from);
  expect(at).toBeLessThanOrEqual(until);
});
