import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { chrome } from '../ingest-fixtures.ts';
import { startTestRegions } from './region-fixtures.ts';

test('batches that wait for the answer of another region take 64 MB at most; others are refused meanwhile', async () => {
  const regions = await startTestRegions();
  let waiting = 0;
  let mostWaiting = 0;
  const silent = createServer((request, response) => {
    mostWaiting = Math.max(mostWaiting, ++waiting);
    response.on('close', () => waiting--);
    request.resume();
  });
  await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
  const targetAt = (port: number) => [{ host: '127.0.0.1', port }];
  regions.wayTo.eu.setTargets(targetAt((silent.address() as AddressInfo).port));

  const payload = { website: regions.newWebsite('eu'), url: '/', data: { x: 'x'.repeat(4_900) } };
  const batch = gzipSync(JSON.stringify(Array.from({ length: 1_000 }, () => ({ type: 'event', payload }))));
  const send = async () => {
    const headers = { 'user-agent': chrome, 'content-encoding': 'gzip', 'idempotency-key': crypto.randomUUID() };
    const url = `http://127.0.0.1:${regions.us.port}/api/batch`;
    return (await fetch(url, { method: 'POST', headers, body: batch })).status;
  };
  expect(await Promise.all(Array.from({ length: 10 }, send))).toEqual(Array(10).fill(503));
  expect(mostWaiting).toBeGreaterThan(1);
  expect(mostWaiting).toBeLessThanOrEqual(6);
  regions.wayTo.eu.setTargets(targetAt(regions.eu.port));
  silent.closeAllConnections();
  silent.close();
  await expect.poll(send, { interval: 1_000, timeout: 30_000 }).toBe(200);
  await regions.stop();
}, 90_000);
