import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { startTestIngest } from '../ingest-fixtures.ts';
import { startTestRegions } from './region-fixtures.ts';

const minuteMs = 60_000;
const secret = 'a secret between regions, long enough too';
const stops: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of stops) await stop();
});

test.each([-10, 10])(
  'the clock of the region that stores an event is the event’s, also when it is %s minutes apart',
  async (minutes) => {
    const websiteId = randomUUID();
    const findWebsiteStatus = async () => ({ region: 'eu', resetAt: null, deleted: false });
    const now = () => Date.now() + minutes * minuteMs;
    const peers = { PEER_SECRET: secret, PEERS: 'us=http://127.0.0.1:1' };
    const eu = await startTestIngest({ REGION: 'eu', ...peers }, { findWebsiteStatus, now });
    const us = await startTestIngest(
      { REGION: 'us', ...peers, PEERS: `eu=http://127.0.0.1:${eu.port}` },
      { findWebsiteStatus },
    );
    stops.push(us.stop, eu.stop);

    for (let i = 0; i < 3; i++)
      expect((await us.send({ type: 'event', payload: { website: randomUUID(), url: '/' } })).status).toBe(200);
    const beforeMs = now();
    const answer = await us.send({ type: 'event', payload: { website: websiteId, url: '/' } });
    expect(answer.status, answer.text).toBe(200);
    const [event] = await eu.storedEvents(websiteId);
    expect(event?.createdAtMs).toBeGreaterThanOrEqual(beforeMs - 1_000);
    expect(event?.createdAtMs).toBeLessThanOrEqual(now());
    // Its token counts in both: it is young by either clock, or said to be from a future that is near.
    const { cache } = JSON.parse(answer.text);
    for (const region of [us, eu]) {
      const next = await region.send(
        { type: 'event', payload: { website: websiteId, url: '/2' } },
        { 'x-umami-cache': cache },
      );
      expect(JSON.parse(next.text).visitId).toBe(JSON.parse(answer.text).visitId);
    }
  },
);

/** eu, whose clock is so far ahead and which may hang: then it is later there than when the request was sent. */
async function startHanging(aheadMs: number, settings: Record<string, string> = {}) {
  const hang = { ms: 0 };
  const now = () => Date.now() + aheadMs + hang.ms;
  const regions = await startTestRegions({ us: settings }, { eu: now });
  stops.push(regions.stop);
  const website = regions.newWebsite('eu');
  const send = (url: string) => regions.us.send({ type: 'event', payload: { website, url } });
  return { regions, hang, send, website, clock: () => Date.now() + aheadMs };
}

test.each([
  [0, 'after others'],
  [-10, 'after others'],
  [10, 'after others'],
  [0, 'as the first'],
])(
  'an event that came while its region hung has the time at which it came, the clocks %s minutes apart, %s',
  async (minutes, order) => {
    const { regions, hang, send, website, clock } = await startHanging(minutes * minuteMs);
    // The quickest of them tells how far the clocks are apart: one alone may be slow.
    for (let i = 0; i < (order === 'after others' ? 3 : 0); i++) expect((await send('/before')).status).toBe(200);
    const beforeMs = clock();
    hang.ms = 8_000;
    expect((await send('/hung')).status).toBe(200);
    const event = (await regions.eu.storedEvents(website)).find(({ urlPath }) => urlPath === '/hung');
    expect(event?.createdAtMs).toBeGreaterThanOrEqual(beforeMs - 1_000);
    expect(event?.createdAtMs).toBeLessThanOrEqual(clock() + 1_000);
  },
);

test('what a region comes to after so long that the other one’s word does not count any more is not stored, and once when it waits and is delivered again', async () => {
  for (const FORWARD_SPOOL of ['off', 'on']) {
    const { regions, hang, send, website } = await startHanging(0, { FORWARD_SPOOL });
    hang.ms = 16 * minuteMs;
    const sentAtMs = Date.now();
    expect((await send('/late')).status).toBe(FORWARD_SPOOL === 'on' ? 200 : 503);
    const answeredAtMs = Date.now();
    expect(await regions.eu.storedEvents(website)).toEqual([]);
    hang.ms = 0;
    if (FORWARD_SPOOL === 'off') continue;
    await expect.poll(() => regions.waitingIn('us')).toBe(0);
    const stored = await regions.eu.storedEvents(website);
    expect(stored.map(({ urlPath }) => urlPath)).toEqual(['/late']);
    expect(stored[0]?.createdAtMs).toBeGreaterThanOrEqual(sentAtMs - 1_000);
    expect(stored[0]?.createdAtMs).toBeLessThanOrEqual(answeredAtMs + 1_000);
  }
});
