import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestIngest } from './ingest-fixtures.ts';

let ingest: Awaited<ReturnType<typeof startTestIngest>>;

beforeAll(async () => {
  ingest = await startTestIngest({ COLLECT_OVERRIDES: 'off', IGNORE_IP: '198.51.100.66' });
});
afterAll(() => ingest.stop());

const overrides = {
  ip: '8.8.8.8',
  userAgent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1',
  browser: 'My App',
  os: 'My OS',
  device: 'tablet',
};

test.each(Object.entries(overrides))(
  'with COLLECT_OVERRIDES=off payload.%s changes neither visitor nor profile nor place, by send and by batch',
  async (field, value) => {
    const website = await ingest.newWebsite();
    const event = (payload: object) => ({ type: 'event', payload: { website, url: '/a', ...payload } });
    for (const reply of [
      await ingest.send(event({})),
      await ingest.send(event({ [field]: value })),
      await ingest.batch([event({ [field]: value })]),
    ])
      expect(reply.status).toBe(200);
    const [plain, ...overridden] = (await ingest.storedEvents(website)).map(
      ({ sessionId, visitId, browser, os, device, country }) => ({ sessionId, visitId, browser, os, device, country }),
    );
    expect(plain).toMatchObject({ browser: 'Chrome', os: 'Linux', device: 'desktop', country: '' });
    expect(overridden).toEqual([plain, plain]);
  },
);

test('with COLLECT_OVERRIDES=off nobody is ignored for an address or a User-Agent in the payload, and time and id still count', async () => {
  const website = await ingest.newWebsite();
  const payload = { website, timestamp: 1_780_000_000, id: 'user-7', ip: '198.51.100.66', userAgent: 'Googlebot/2.1' };
  const reply = await ingest.send({ type: 'event', payload });
  expect(JSON.parse(reply.text)).toMatchObject({ sessionId: expect.any(String) });
  const [stored] = await ingest.storedEvents(website);
  expect(stored).toMatchObject({ createdAtMs: 1_780_000_000_000, distinctId: 'user-7', browser: 'Chrome' });
});
