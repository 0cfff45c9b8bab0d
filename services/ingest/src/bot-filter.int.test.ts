import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, chrome, startTestIngest } from './ingest-fixtures.ts';

const libraries = ['python-requests/2.32', 'curl/8.5.0', 'okhttp/4.12', 'example-worker/1.0', 'node', 'Mozilla/5.0'];
const crawlers = [
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'facebookexternalhit/1.1',
];
const browsers = [chrome, 'Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0'];

describe.each([
  { settings: {}, kept: [...libraries, ...browsers], ignored: crawlers },
  { settings: { BOT_FILTER: 'off' }, kept: [...libraries, ...crawlers, ...browsers], ignored: [] },
  { settings: { BOT_FILTER: 'isbot' }, kept: browsers, ignored: [...libraries, ...crawlers] },
])('with the settings $settings', ({ settings, kept, ignored }) => {
  let ingest: Awaited<ReturnType<typeof startTestIngest>>;
  beforeAll(async () => {
    ingest = await startTestIngest(settings);
  });
  afterAll(() => ingest.stop());

  test('every sender is either stored or told that it was ignored, by its header and by its payload alike', async () => {
    const website = await ingest.newWebsite();
    const event = (fields: object = {}) => ({ type: 'event', payload: { website, ...fields } });
    const replies = async (userAgent: string) => [
      await ingest.send(event(), { 'user-agent': userAgent }),
      await ingest.send(event({ userAgent }), { 'user-agent': browsers[0] ?? '' }),
    ];
    for (const userAgent of kept) {
      for (const { text } of await replies(userAgent))
        expect(JSON.parse(text), userAgent).toMatchObject({
          sessionId: expect.any(String),
          visitId: expect.any(String),
        });
    }
    for (const userAgent of ignored) {
      for (const { status, text } of await replies(userAgent))
        expect([status, JSON.parse(text)], userAgent).toEqual([200, { beep: 'boop', ignored: 'crawler' }]);
    }
    const batch = await ingest.batch([...kept, ...ignored].map((userAgent) => event({ userAgent })));
    expect(JSON.parse(batch.text)).toMatchObject({ processed: kept.length, ignored: ignored.length, errors: 0 });
    expect(await ingest.storedEvents(website)).toHaveLength(3 * kept.length);
  });

  test('no User-Agent, an empty and a blank one are never stored, and open no session', async () => {
    const website = await ingest.newWebsite();
    const body = JSON.stringify({ type: 'event', payload: { website, id: 'user-1', userAgent: chrome } });
    const sessions = await ingest.reader.keys('visits:*');
    for (const headers of [{}, { 'user-agent': '' }, { 'user-agent': '   ' }, { 'user-agent': '\t' }]) {
      const reply = await call(ingest.port, 'POST', '/api/send', body, headers);
      expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { beep: 'boop', ignored: 'no-user-agent' }]);
    }
    expect(await ingest.storedEvents(website)).toEqual([]);
    expect(await ingest.reader.keys('visits:*')).toHaveLength(sessions.length);
  });

  test('without a User-Agent whatever is sent is ignored, faulty or not, and nothing is an error', async () => {
    const website = await ingest.newWebsite();
    const elements = [{ type: 'event', payload: { website } }, null, { type: 'x' }, { type: 'event', payload: {} }];
    for (const headers of [{}, { 'user-agent': ' ' }]) {
      for (const element of elements) {
        const reply = await call(ingest.port, 'POST', '/api/send', JSON.stringify(element), headers);
        expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { beep: 'boop', ignored: 'no-user-agent' }]);
      }
      const batch = await call(ingest.port, 'POST', '/api/batch', JSON.stringify(elements), headers);
      const ignoredDetails = elements.map((_, index) => ({ index, reason: 'no-user-agent' }));
      const counts = { size: 4, processed: 0, errors: 0, details: [], ignored: 4, ignoredDetails, cache: null };
      expect([batch.status, JSON.parse(batch.text)]).toEqual([200, counts]);
    }
  });
});
