import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allPaths, chrome } from '../api-client.ts';
import { post } from '../collector.ts';
import { untilLogIsEmpty } from './checker.ts';
import { type System, startSystem } from './system.ts';
import { underLoad, untilAccepted } from './under-load.ts';

const residentMaxBytes = 256 * 1_048_576;
/** Of a worker in deploy/compose.yaml and in the chart. */
const workerMaxBytes = 768 * 1_048_576;

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

test('a hundred requests of a few kilobytes that unpack to 500 MB cost no worker its memory, and their neighbour nothing', async () => {
  const [websiteId, neighbour] = [await system.newWebsite(), await system.newWebsite()];
  const key = (n: number) => `${n}-${'k'.repeat(490)}`;
  const data = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [key(n), 'v'.repeat(2_000)]));
  const event = { type: 'event', payload: { website: websiteId, name: 'large', url: '/large', data } };
  const body = gzipSync(JSON.stringify(Array(20).fill(event)));
  expect(body.length).toBeLessThan(30_000);
  const headers = { 'user-agent': chrome, 'content-type': 'application/json' };
  const [port] = system.ingestPorts();
  const send = (path: string, content: Buffer | object, more = {}) =>
    post(`http://127.0.0.1:${port}/api/${path}`, { ...headers, ...more }, content);

  system.proxies.clickhouse.goDown(); // so that all of them wait in the log
  for (let i = 0; i < 100; i++) {
    const answer = await send('batch', body, { 'content-encoding': 'gzip' });
    expect(answer.body).toMatchObject({ processed: 20, errors: 0 });
  }
  expect((await send('send', { type: 'event', payload: { website: neighbour, url: '/' } })).status).toBe(200);
  system.proxies.clickhouse.goUp();

  const [worker] = system.members.worker;
  if (!worker) throw new Error('There is no worker');
  const memory: number[] = [];
  const looking = setInterval(async () => memory.push(await worker.residentBytes()), 100);
  await untilLogIsEmpty(system, 120_000);
  clearInterval(looking);
  console.log(`the worker: at most ${Math.round(Math.max(...memory) / 1_048_576)} MB`);
  expect(Math.min(...memory)).toBeGreaterThan(0);
  expect(Math.max(...memory)).toBeLessThan(workerMaxBytes);
  expect(await allPaths(system.api, neighbour)).toEqual(['/']);
  expect(await system.clickhouse(`SELECT count() FROM {db}.events WHERE website_id = '${websiteId}'`)).toEqual([
    '2000',
  ]);
  expect(await system.wrongRows(websiteId)).toEqual([]);
}, 240_000);
