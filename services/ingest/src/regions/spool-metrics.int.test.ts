import { afterAll, expect, test } from 'vitest';
import { collectMetrics } from '../collect-counts.ts';
import { startTestRegions } from './region-fixtures.ts';

const regions = await startTestRegions({ us: { FORWARD_SPOOL: 'on', FORWARD_SPOOL_MAX_BYTES: '100000' } });
afterAll(regions.stop);

/** What the collector of us says of its spool, by the end of the metric's name. */
async function spoolMetrics(): Promise<Record<string, number | undefined>> {
  const prefix = 'meridian_forward_spool_';
  const metrics = collectMetrics(regions.us.counts).filter(({ name }) => name.startsWith(prefix));
  const values = metrics.map(async ({ name, read }) => [name.slice(prefix.length), (await read())[0]?.value]);
  return Object.fromEntries(await Promise.all(values));
}

test('metrics tell how much waits for another region, how long it has, and how much may', async () => {
  const none = { requests: 0, bytes: 0, age_seconds: 0, limit_bytes: 100_000 };
  expect(await spoolMetrics()).toEqual(none);
  regions.wayTo.eu.goDown();
  const body = { type: 'event', payload: { website: regions.newWebsite('eu'), url: '/' } };
  for (let i = 0; i < 2; i++) expect((await regions.us.send(body)).status).toBe(200);
  const waiting = await spoolMetrics();
  expect(waiting).toMatchObject({ requests: 2, limit_bytes: 100_000 });
  const entries = await regions.us.reader.xrange('forward:{eu}', '-', '+');
  expect(waiting.bytes).toBe(entries.reduce((sum, [, [, text = '']]) => sum + Buffer.byteLength(text), 0));
  await expect.poll(async () => (await spoolMetrics()).age_seconds).toBeGreaterThan(0.5);
  regions.wayTo.eu.goUp();
  await expect.poll(spoolMetrics).toEqual(none);
});

test('the metrics of the spool that are read together ask Redis once', async () => {
  let askedCount = 0;
  const spooled = async () => {
    askedCount++;
    return [{ requests: 1, bytes: 2, sinceMs: 3_000 }];
  };
  const metrics = collectMetrics({ ...regions.us.counts, spooled }, () => 8_000);
  for (let round = 1; round <= 2; round++) {
    const read = await Promise.all(metrics.map(async ({ name, read }) => [name, await read()]));
    expect(Object.fromEntries(read)).toMatchObject({ meridian_forward_spool_age_seconds: [{ value: 5 }] });
    expect(askedCount).toBe(round);
  }
});

test('without a spool there is no limit, which would be none', async () => {
  const metric = collectMetrics(regions.eu.counts).find(({ name }) => name.endsWith('_limit_bytes'));
  expect(await metric?.read()).toEqual([]);
});
