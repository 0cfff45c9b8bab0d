import { createHash, randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { publishWebsiteChange } from '@meridian/queue/website-changes';
import { testActor } from '@meridian/registry/registry-fixtures';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, chrome, type Reply, startTestIngest } from './ingest-fixtures.ts';

let ingest: Awaited<ReturnType<typeof startTestIngest>>;
let website: string;

beforeAll(async () => {
  ingest = await startTestIngest({ TRUSTED_PROXIES: '192.0.2.1', IGNORE_IP: '198.51.100.66' });
});
afterAll(() => ingest.stop());

const json = (reply: Reply) => JSON.parse(reply.text);
const event = (payload: object = {}, type = 'event') => ({ type, payload: { website, ...payload } });
const sendOk = async (payload: object = {}, headers: Record<string, string> = {}, type = 'event') => {
  const reply = await ingest.send(event(payload, type), headers);
  expect(reply.status, reply.text).toBe(200);
  return json(reply) as { cache: string; sessionId: string; visitId: string };
};
const urlsStored = async () => (await ingest.storedEvents(website)).map((stored) => stored.urlPath);

async function newWebsite(): Promise<void> {
  website = await ingest.newWebsite();
}

test('an accepted event is in the event log when the answer comes, with the session and visit that the answer names', async () => {
  await newWebsite();
  const answer = await sendOk({ url: '/a?x=1', title: 'A', id: 'u1', name: 'signup', data: { plan: 'pro' } });
  const [stored] = await ingest.storedEvents(website);
  expect(stored).toMatchObject({
    websiteId: website,
    sessionId: answer.sessionId,
    visitId: answer.visitId,
    eventType: 2,
    urlPath: '/a',
    urlQuery: 'x=1',
    pageTitle: 'A',
    distinctId: 'u1',
    browser: 'Chrome',
    data: '{"plan":"pro"}',
  });
  expect(answer.cache.length).toBeGreaterThan(100);
});

test('beside thousands of made-up websites none is refused for want of a lookup, and first events are taken', async () => {
  const unseen = await Promise.all(Array.from({ length: 10 }, () => ingest.newWebsite()));
  const madeUp = () => Array.from({ length: 1_000 }, () => event({ website: randomUUID(), url: '/' }));
  const batches = Array.from({ length: 4 }, () => ingest.batch(madeUp()));
  const first = await Promise.all(unseen.map((id) => ingest.send(event({ website: id, url: '/' }))));
  expect(first.map(({ status }) => status)).toEqual(Array(10).fill(200));
  for (const reply of await Promise.all(batches)) {
    const codes = json(reply).details.map(({ response }: { response: { error: object } }) => response.error);
    expect(codes).toEqual(Array(1_000).fill(expect.objectContaining({ code: 'bad-request' })));
  }
});

test('ignored events answer beep with the reason and are not stored', async () => {
  await newWebsite();
  for (const [reason, payload, headers] of [
    ['no-user-agent', {}, { 'user-agent': '' }],
    ['no-user-agent', {}, { 'user-agent': '   ' }],
    ['crawler', {}, { 'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' }],
    ['blocked-address', { ip: '198.51.100.66' }, {}],
  ] as const)
    expect(json(await ingest.send(event(payload), headers))).toEqual({ beep: 'boop', ignored: reason });
  const withoutHeader = await call(ingest.port, 'POST', '/api/send', JSON.stringify(event()), {});
  expect(json(withoutHeader)).toEqual({ beep: 'boop', ignored: 'no-user-agent' });
  expect(await ingest.storedEvents(website)).toEqual([]);
});

test('session and visit go on with the token; without one the same client is the same visitor', async () => {
  await newWebsite();
  const first = await sendOk({ url: '/a' });
  const moved = await sendOk({ url: '/b', ip: '203.0.113.9' }, { 'x-umami-cache': first.cache });
  const same = await sendOk({ url: '/c' });
  const other = await sendOk({ url: '/d', ip: '203.0.113.9' });
  for (const answer of [moved, same]) {
    expect([answer.sessionId, answer.visitId]).toEqual([first.sessionId, first.visitId]);
  }
  expect(other.sessionId).not.toBe(first.sessionId);
});

/** Requests, each of pageviews at minutes, or of a measurement ('p25'), with the token of the one before. */
test.each([
  { requests: [[0], ['p25'], [50]], visits: 2 },
  { requests: [[0], [20], ['p25'], [50]], visits: 1 },
  { requests: [[0], [20], [-10], [45]], visits: 1 },
  { requests: [[0, 20, -10], [45]], visits: 1 },
  { requests: [[0], [20, 'p25'], [45]], visits: 1 },
  { requests: [[0, 'p25'], [50]], visits: 2 },
])('$requests are $visits visits, whether the log remembers them or the token alone', async ({ requests, visits }) => {
  for (const isForgotten of [false, true]) {
    await newWebsite();
    let cache = '';
    for (const minutes of requests) {
      if (isForgotten) await ingest.reader.del('none', ...(await ingest.reader.keysBuffer('visits:*')));
      const sent = minutes.map((minute) => {
        const timestamp = Date.UTC(2026, 5, 10, 10) + Number(String(minute).replace('p', '')) * 60_000;
        return event({ timestamp }, typeof minute === 'string' ? 'performance' : 'event');
      });
      const headers = { 'x-umami-cache': cache };
      cache = json(sent.length === 1 ? await ingest.send(sent[0], headers) : await ingest.batch(sent, headers)).cache;
    }
    const stored = await ingest.storedEvents(website);
    expect([isForgotten, new Set(stored.map(({ visitId }) => visitId)).size]).toEqual([isForgotten, visits]);
  }
});

test('a visitor who is identified in the middle of a visit keeps the visit, and events after it carry the id', async () => {
  await newWebsite();
  const anonymous = await sendOk({ url: '/a' });
  const identified = await sendOk({ id: 'user-42' }, { 'x-umami-cache': anonymous.cache }, 'identify');
  const later = await sendOk({ url: '/b' }, { 'x-umami-cache': identified.cache });
  expect(new Set([anonymous, identified, later].map((answer) => answer.visitId)).size).toBe(1);
  expect([later.sessionId, identified.sessionId]).not.toContain(anonymous.sessionId);
  expect((await ingest.storedEvents(website)).map((stored) => stored.distinctId)).toEqual(['', 'user-42', 'user-42']);
});

test('50 first events of one session in parallel get one session and one visit', async () => {
  await newWebsite();
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => sendOk({ url: `/${i}`, id: 'rush' })));
  expect(new Set(answers.map((answer) => `${answer.sessionId} ${answer.visitId}`)).size).toBe(1);
  expect(await ingest.storedEvents(website)).toHaveLength(50);
});

test('a batch counts stored, refused and ignored events and keeps their order', async () => {
  await newWebsite();
  const reply = await ingest.batch([
    event({ url: '/0', id: 'u1' }),
    null,
    event({ url: '/2', id: 'u2' }),
    event({ website: randomUUID() }),
    event({ userAgent: 'Mozilla/5.0 (compatible; bingbot/2.0)' }),
    event({ url: '/5', id: 'u1' }),
    [],
  ]);
  const { cache, details, ...counts } = json(reply);
  expect(counts).toEqual({
    size: 7,
    processed: 3,
    errors: 3,
    ignored: 1,
    ignoredDetails: [{ index: 4, reason: 'crawler' }],
  });
  expect(details.map((detail: { index: number }) => detail.index)).toEqual([1, 3, 6]);
  expect(details[1].error).toContain('payload.website');
  expect(details[1].response.error).toEqual({ message: details[1].error, code: 'bad-request', status: 400 });
  expect(await urlsStored()).toEqual(['/0', '/2', '/5']);
  const ids = (await ingest.storedEvents(website)).map((stored) => stored.eventId);
  expect(ids).toEqual(ids.toSorted());
  // The token is the last stored event's.
  const next = await sendOk({ url: '/6' }, { 'x-umami-cache': cache });
  expect(next.sessionId).toBe((await sendOk({ id: 'u1' })).sessionId);
});

test('a batch may be an object with the keys 0 to n-1, or { events }; empty ones are zeros', async () => {
  await newWebsite();
  const events = Array.from({ length: 12 }, (_, i) => event({ url: `/${i}` }));
  expect(json(await ingest.batch({ ...events })).processed).toBe(12);
  expect(json(await ingest.batch({ events })).processed).toBe(12);
  for (const empty of [[], {}]) {
    const zeros = { size: 0, processed: 0, errors: 0, ignored: 0, details: [], ignoredDetails: [], cache: null };
    expect(json(await ingest.batch(empty))).toEqual(zeros);
  }
});

test('a repeated Idempotency-Key gets the first answer and stores nothing again, also 20 times at once', async () => {
  await newWebsite();
  for (const [route, body] of [
    ['send', event({ url: '/x', id: 'u' })],
    ['batch', [event({ url: '/x', id: 'u' }), null, event({ url: '/y' })]],
  ] as const) {
    const headers = { 'idempotency-key': randomUUID() };
    const replies = await Promise.all(Array.from({ length: 20 }, () => ingest[route](body, headers)));
    expect(new Set(replies.map((reply) => reply.text)).size).toBe(1);
    expect(replies[0]?.status).toBe(200);
    expect((await ingest[route](body, headers)).text).toBe(replies[0]?.text);
  }
  expect(await urlsStored()).toEqual(['/x', '/x', '/y']);
});

test('the same Idempotency-Key with another body is 422; on another route or website it is another key', async () => {
  await newWebsite();
  const headers = { 'idempotency-key': randomUUID() };
  expect((await ingest.send(event({ url: '/x' }), headers)).status).toBe(200);
  const reused = await ingest.send(event({ url: '/y' }), headers);
  expect([reused.status, json(reused).error.code]).toEqual([422, 'idempotency-key-reused']);
  expect((await ingest.batch([event({ url: '/z' })], headers)).status).toBe(200);
  expect(await urlsStored()).toEqual(['/x', '/z']);
  await newWebsite();
  expect((await ingest.send(event({ url: '/x' }), headers)).status).toBe(200);
  expect((await ingest.send(event(), { 'idempotency-key': 'a b' })).status).toBe(400);
});

test('of a batch of which nothing was taken nothing is kept, so that its key may be used again', async () => {
  await newWebsite();
  const headers = { 'idempotency-key': randomUUID() };
  const refused = [event({ timestamp: 5 }), null, event({ userAgent: 'Googlebot/2.1' })];
  const answers = [await ingest.batch(refused, headers), await ingest.batch(refused, headers)];
  for (const { status, text } of answers)
    expect([status, JSON.parse(text)]).toMatchObject([200, { processed: 0, errors: 2, ignored: 1, cache: null }]);
  expect(await ingest.reader.keys(`*${headers['idempotency-key']}`)).toEqual([]);
  const taken = await ingest.batch([event({ url: '/taken' })], headers);
  expect(json(taken).processed).toBe(1);
  // And a batch of which something was taken is known by its key, whatever would become of it now.
  const ofCrawler = await ingest.batch([event({ url: '/taken' })], { ...headers, 'user-agent': 'Googlebot/2.1' });
  expect([ofCrawler.status, ofCrawler.text]).toEqual([200, taken.text]);
  expect((await ingest.batch(refused, headers)).status).toBe(422);
  expect(await urlsStored()).toEqual(['/taken']);
});

test('a website takes events as soon as it is created, and none once it is deleted', async () => {
  const created = randomUUID();
  expect((await ingest.send(event({ website: created }))).status).toBe(400);
  await newWebsite();
  await sendOk();
  const { cache } = await sendOk();
  await ingest.registry.deleteWebsite(website, testActor);
  await publishWebsiteChange(ingest.reader, website);
  await expect
    .poll(async () => (await ingest.send(event(), { 'x-umami-cache': cache })).status, { timeout: 5_000 })
    .toBe(400);
});

test('an event for a website of another region is told to come again, in a batch at its index', async () => {
  await newWebsite();
  const foreign = await ingest.newWebsite({ region: 'eu' });
  const reply = await ingest.send(event({ website: foreign }));
  expect([reply.status, json(reply).error.code]).toEqual([503, 'service-unavailable']);
  const { processed, details } = json(await ingest.batch([event(), event({ website: foreign })]));
  expect([processed, details[0].index, details[0].response.error.status]).toEqual([1, 1, 503]);
});

test('send and batch answer under every prefix, with and without a trailing slash', async () => {
  await newWebsite();
  for (const prefix of ['/api', '/v1', '/v1/us']) {
    const body = JSON.stringify(event());
    for (const [path, sent] of [
      ['send', body],
      ['send/', body],
      ['batch', `[${body}]`],
      ['batch/?x=1', `[${body}]`],
    ] as const)
      expect((await call(ingest.port, 'POST', `${prefix}/${path}`, sent, { 'user-agent': chrome })).status).toBe(200);
  }
  expect((await call(ingest.port, 'POST', '/v1/xx/send', '{}', {})).status).toBe(404);
  expect(await ingest.storedEvents(website)).toHaveLength(12);
});

test('a body over the limit is 413 for a client that is still writing it, and the connection is of use afterwards', async () => {
  await newWebsite();
  for (const [route, bytes] of [
    ['send', 65_536],
    ['batch', 5_242_880],
  ] as const) {
    const padding = (length: number) =>
      `{"type":"event","payload":{"website":"${website}","junk":"${'x'.repeat(length)}"}}`;
    const tooLarge = await ingest[route](route === 'send' ? padding(bytes) : `[${padding(bytes)}]`);
    expect([tooLarge.status, json(tooLarge).error.code]).toEqual([413, 'payload-too-large']);
    const packed = await ingest[route](gzipSync(padding(bytes)), { 'content-encoding': 'gzip' });
    expect(packed.status).toBe(413);
    const fits = await ingest[route](route === 'send' ? padding(60_000) : `[${padding(4_000_000)}]`);
    expect(fits.status, fits.text).toBe(200);
  }
  expect((await ingest.send('x'.repeat(12_000_000))).status).toBe(413);
  expect(await ingest.storedEvents(website)).toHaveLength(2);
});

test('another method is 405 with Allow, a preflight is answered, errors carry CORS headers and a request id', async () => {
  const headers = { origin: 'https://shop.example' };
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
    const reply = await call(ingest.port, method, '/api/send', undefined, headers);
    expect([reply.status, json(reply).error.code, reply.headers.allow]).toEqual([
      405,
      'method-not-allowed',
      'POST, OPTIONS',
    ]);
  }
  const preflight = await call(ingest.port, 'OPTIONS', '/api/batch', undefined, {
    ...headers,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type, x-custom',
  });
  expect([preflight.status, preflight.text]).toEqual([204, '']);
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': 'https://shop.example',
    'access-control-allow-headers': 'content-type, x-custom, x-umami-cache',
    'access-control-max-age': '86400',
  });
  for (const reply of [
    await ingest.send(event(), headers),
    await ingest.send('{bad', headers),
    await ingest.send(event(), { ...headers, 'user-agent': '' }),
    await ingest.send('x'.repeat(70_000), headers),
  ]) {
    expect(reply.headers).toMatchObject({
      'access-control-allow-origin': 'https://shop.example',
      'access-control-allow-credentials': 'true',
      vary: 'Origin',
      'x-request-id': expect.stringMatching(/^[\x21-\x7e]+$/),
      'content-type': 'application/json',
    });
    expect(reply.headers['set-cookie']).toBeUndefined();
  }
  expect((await ingest.send(event(), { 'x-request-id': 'my-id.42' })).headers['x-request-id']).toBe('my-id.42');
});

test('errors are RFC 9457 when asked for', async () => {
  const reply = await ingest.send('{', { accept: 'application/problem+json' });
  expect(reply.headers['content-type']).toBe('application/problem+json');
  expect(json(reply)).toMatchObject({ status: 400, title: 'bad-request', detail: expect.stringMatching(/JSON/) });
});

test('from a peer that is no trusted proxy no forwarded address is believed', async () => {
  await newWebsite();
  const { sessionId } = await sendOk();
  for (const header of ['x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'forwarded'])
    expect((await sendOk({}, { [header]: header === 'forwarded' ? 'for=203.0.113.7' : '203.0.113.7' })).sessionId).toBe(
      sessionId,
    );
});

test('neither address nor User-Agent is anywhere in Redis', async () => {
  await newWebsite();
  await sendOk({ ip: '203.0.113.213', userAgent: `${chrome} UnlikelyName/1` });
  const stored = JSON.stringify(await ingest.storedEvents());
  expect(stored).not.toMatch(/203\.0\.113\.213|UnlikelyName/);
  const keys = (await ingest.reader.keys('*')).join('\n');
  expect(keys).not.toMatch(/203\.0\.113|UnlikelyName/);
  expect(keys).not.toContain(createHash('sha256').update('203.0.113.213').digest('hex'));
});

test('liveness and readiness are told', async () => {
  for (const path of ['/livez', '/readyz', '/api/heartbeat']) {
    const reply = await call(ingest.port, 'GET', path, undefined, {});
    expect([reply.status, json(reply).ok]).toEqual([200, true]);
  }
  expect((await call(ingest.port, 'GET', '/nothing', undefined, {})).status).toBe(404);
});
