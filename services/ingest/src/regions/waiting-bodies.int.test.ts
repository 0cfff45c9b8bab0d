import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { chrome } from '../ingest-fixtures.ts';
import { startTestRegions } from './region-fixtures.ts';

test('batches that wait for another region are bounded by their memory; those beyond are 503 at once, and later taken', async () => {
  const regions = await startTestRegions();
  const website = regions.newWebsite('eu');
  const element = { type: 'event', payload: { website, url: '/', data: { x: 'x'.repeat(4_900) } } };
  const batch = gzipSync(JSON.stringify(Array.from({ length: 1_000 }, () => element)));
  const statuses: number[] = [];
  const send = async () => {
    const headers = { 'user-agent': chrome, 'content-encoding': 'gzip', 'idempotency-key': crypto.randomUUID() };
    const url = `http://127.0.0.1:${regions.us.port}/api/batch`;
    const { status } = await fetch(url, { method: 'POST', headers, body: batch });
    statuses.push(status);
    return status;
  };
  regions.wayTo.eu.hang();
  const sent = Array.from({ length: 10 }, send);
  await expect.poll(() => statuses.length).toBe(4);
  expect(statuses).toEqual(Array(4).fill(503));
  regions.wayTo.eu.goUp();
  await Promise.all(sent);
  await expect.poll(send, { interval: 1_000 }).toBe(200);
  await regions.stop();
}, 60_000);
