import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { startTestIngest } from '../ingest-fixtures.ts';

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
    const findWebsiteRoute = async () => ({ region: 'eu', resetAt: null, deleted: false });
    const now = () => Date.now() + minutes * minuteMs;
    const peers = { PEER_SECRET: secret, PEERS: 'us=http://127.0.0.1:1' };
    const eu = await startTestIngest({ REGION: 'eu', ...peers }, { findWebsiteRoute, now });
    const us = await startTestIngest(
      { REGION: 'us', ...peers, PEERS: `eu=http://127.0.0.1:${eu.port}` },
      { findWebsiteRoute },
    );
    stops.push(us.stop, eu.stop);

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
