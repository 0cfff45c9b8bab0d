import { partitionOf } from '@meridian/queue/log-keys';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { always, chrome, eventually, request, type Stats } from '../api-client.ts';
import { untilLogIsEmpty } from './checker.ts';
import { type System, startSystem } from './system.ts';

const partitions = 4;
const backlog = 30_000;
let system: System;
beforeAll(async () => {
  system = await startSystem({ partitions, counts: { worker: 1 }, env: { FLUSH_MAX_ROWS: '2000' } });
}, 120_000);
afterAll(() => system.stop());

const sendMany = async (websiteId: string, count: number): Promise<void> => {
  const body = Array.from({ length: count }, (_, i) => ({
    type: 'event',
    payload: { website: websiteId, url: '/', id: `visitor-${i % 50}` },
  }));
  const url = `http://127.0.0.1:${system.members.ingest[0]?.port}/api/batch`;
  const answer = await request('POST', url, { headers: { 'user-agent': chrome }, body });
  expect(answer.status).toBe(200);
};
const pageviews = async (websiteId: string) =>
  (await system.api.get<Stats>(`/websites/${websiteId}/stats`, always())).pageviews;

/** A website of the same partition as the other one, or of another. */
async function newWebsite(beside: string, inSamePartition: boolean): Promise<string> {
  for (;;) {
    const websiteId = await system.newWebsite();
    if ((partitionOf(websiteId, partitions) === partitionOf(beside, partitions)) === inSamePartition) return websiteId;
  }
}

test('the backlog of one website delays the websites of its own partition only', async () => {
  const noisy = await system.newWebsite();
  const near = await newWebsite(noisy, true);
  const far = await newWebsite(noisy, false);
  const [worker] = system.members.worker;
  await worker?.end('SIGTERM');
  for (let sent = 0; sent < backlog; sent += 1_000) await sendMany(noisy, 1_000);
  for (const websiteId of [near, far]) await sendMany(websiteId, 1);
  system.proxies.clickhouse.slowDown(100); // else a busy machine sees all of it at once
  await worker?.start();
  await eventually(
    () => pageviews(far),
    (count) => count === 1,
  );
  system.proxies.clickhouse.goUp();
  expect(await pageviews(near)).toBe(0);
  expect(await pageviews(noisy)).toBeLessThan(backlog);
  await untilLogIsEmpty(system);
  expect(await Promise.all([noisy, near, far].map(pageviews))).toEqual([backlog, 1, 1]);
}, 120_000);

test('while the workers keep up, a website with 95 % of the load delays nobody', async () => {
  const noisy = await system.newWebsite();
  const far = await newWebsite(noisy, false);
  const near = await newWebsite(noisy, true);
  for (let round = 0; round < 5; round++) {
    await Promise.all([sendMany(noisy, 950), sendMany(far, 25), sendMany(near, 25)]);
    const startedAt = performance.now();
    await eventually(
      async () => [await pageviews(far), await pageviews(near)],
      (counts) => counts.every((count) => count === 25 * (round + 1)),
    );
    console.log(`the others' events were visible after ${Math.round(performance.now() - startedAt)} ms`);
  }
}, 120_000);
