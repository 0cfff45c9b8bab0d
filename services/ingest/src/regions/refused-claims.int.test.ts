import { errorStatus } from '@meridian/contract/errors';
import { afterAll, expect, test } from 'vitest';
import { startTestRegions } from './region-fixtures.ts';

const regions = await startTestRegions();
afterAll(regions.stop);

test('what cannot show that another region hands it on is 503 and stored nowhere, and counted apart from senders who are turned away', async () => {
  const { us } = regions;
  const website = regions.newWebsite('us');
  const event = { type: 'event', payload: { website, url: '/' } };
  const forged = { 'x-meridian-peer': `eu,${Date.now()},0,203.0.113.9,${'A'.repeat(43)}` };
  expect((await us.send(event, forged)).status).toBe(503);
  expect((await us.batch([event], forged)).status).toBe(503);
  expect(us.counts.peerClaimsRefused).toBe(2);
  expect(us.counts.refused).toEqual(Object.fromEntries(Object.keys(errorStatus).map((code) => [code, 0])));
  expect(await us.storedEvents(website)).toEqual([]);
});
