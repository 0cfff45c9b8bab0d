import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { chrome, createWebsite, logIn } from '../api-client.ts';
import { accepted, type LoggedEvent, loggedEvents, post, ranking, statsOf } from '../collector.ts';
import { startMeridian } from '../meridian.ts';

// The forms in which any sender may give its fields, its body and its visitor.
const meridian = await startMeridian({
  FLUSH_MAX_WAIT_MS: '10',
  TRUSTED_PROXIES: '127.0.0.1',
  IGNORE_IP: '198.51.100.0/24',
});
const api = `${meridian.origin}/api`;
const admin = await logIn(api, 'admin', meridian.password);
afterAll(() => meridian.stop());

const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';
const send = (payload: object, headers: Record<string, string> = {}) =>
  post(`${api}/send`, { 'user-agent': chrome, ...headers }, { type: 'event', payload });

const everyText = 'url referrer hostname title screen language name tag id ip userAgent browser os device'.split(' ');
const allFields = (value: unknown) => Object.fromEntries(everyText.map((field) => [field, value]));
const unset = { urlPath: '', hostname: '', pageTitle: '', eventName: '', tag: '', distinctId: '', referrerDomain: '' };

const tolerated: [string, object, Partial<LoggedEvent>][] = [
  ['nothing but the website', {}, { ...unset, eventType: 1, browser: 'Chrome' }],
  ['null in every field', { ...allFields(null), data: null, timestamp: null }, { ...unset, browser: 'Chrome' }],
  ['an empty text in every field', allFields(''), { ...unset, browser: 'Chrome' }],
  ['an array in every text field', allFields(['x']), { ...unset, browser: 'Chrome' }],
  ['an object in every text field', allFields({ toString: 'x' }), { ...unset, browser: 'Chrome' }],
  [
    'numbers where texts are expected',
    { name: 404, title: 1.5, tag: 0, id: 12345, url: 7, hostname: 1 },
    { eventName: '404', pageTitle: '1.5', tag: '0', distinctId: '12345', urlPath: '/7', hostname: '1' },
  ],
  ['booleans where texts are expected', { name: false, title: true }, { eventName: 'false', pageTitle: 'true' }],
  [
    'a url with scheme, host, port, query and fragment',
    { url: 'http://Shop.example:8080/a/b?c=1&d#e' },
    { urlPath: '/a/b#e', urlQuery: 'c=1&d', hostname: 'shop.example' },
  ],
  ['a url without a leading slash', { url: 'a/b' }, { urlPath: '/a/b' }],
  ['a url that is only a host', { url: 'https://shop.example' }, { urlPath: '/', hostname: 'shop.example' }],
  ['an unusable referrer', { url: '/', referrer: 'http://[' }, { urlPath: '/', referrerDomain: '' }],
  [
    'the own site as referrer',
    { hostname: 'shop.example', referrer: 'https://www.shop.example/a' },
    { referrerDomain: '', referrerPath: '/a' },
  ],
  ['nested data', { name: 'n', data: { a: { b: { c: [1, { d: 2 }] } }, e: null } }, { hasData: true }],
  ['data in which everything is null', { name: 'n', data: { a: null, b: { c: null } } }, { hasData: false }],
  ['a website id in capitals', { url: '/capitals' }, { urlPath: '/capitals' }],
  [
    'over-long texts',
    { title: 'x'.repeat(9_000), name: 'y'.repeat(9_000), tag: 'z'.repeat(9_000), id: 'i'.repeat(9_000) },
    { pageTitle: 'x'.repeat(500), eventName: 'y'.repeat(100), tag: 'z'.repeat(100), distinctId: 'i'.repeat(200) },
  ],
  [
    'browser, system and device of its own',
    { browser: 'Opera', os: 'KaiOS', device: 'tablet' },
    { browser: 'Opera', os: 'KaiOS', device: 'tablet' },
  ],
  [
    'a device that is none',
    { device: 'fridge', browser: 'Opera' },
    { device: 'desktop', browser: 'Opera', os: 'Windows' },
  ],
  ["a visitor's User-Agent", { userAgent: iphone }, { browser: 'Safari', os: 'iOS', device: 'mobile' }],
  ["a visitor's User-Agent and a browser", { userAgent: iphone, browser: 'My App' }, { browser: 'My App', os: 'iOS' }],
  ["a visitor's address", { ip: '8.8.8.8' }, { country: 'US' }],
  ["a visitor's address with brackets and port", { ip: '[2001:4860:4860::8888]:443' }, { country: 'US' }],
  ['an address that is none', { ip: '8.8.8.8/24' }, { country: '' }],
  ['a time in seconds', { timestamp: 1_780_000_000 }, { createdAt: '2026-05-28T20:26:40.000Z' }],
  ['a time in seconds as text', { timestamp: '1780000000' }, { createdAt: '2026-05-28T20:26:40.000Z' }],
  ['a time in milliseconds', { timestamp: 1_780_000_000_123 }, { createdAt: '2026-05-28T20:26:40.123Z' }],
];

test.each(tolerated)('%s: accepted and stored', async (what, payload, row) => {
  const website = await createWebsite(admin);
  const id = what.includes('capitals') ? website.id.toUpperCase() : website.id;
  const { sessionId } = accepted(await send({ website: id, ...payload }));
  expect(await loggedEvents(admin, website.id, 1)).toMatchObject([{ ...row, sessionId }]);
});

test('what is not in the log is in the rankings: screen, language, campaign', async () => {
  const website = await createWebsite(admin);
  const url = '/?UTM_Source=news&utm_campaign=Spring%20sale&utm_source=late';
  accepted(await send({ website: website.id, url, screen: '390x844', language: 'pt-BR' }));
  await loggedEvents(admin, website.id, 1);
  for (const [type, value] of Object.entries({
    screen: '390x844',
    language: 'pt',
    utmSource: 'news',
    utmCampaign: 'Spring sale',
  }))
    expect(await ranking(admin, website.id, type)).toEqual({ [value]: 1 });
});

test('what cannot be an event is refused with the name of its field, and costs its neighbours in a batch nothing', async () => {
  const website = await createWebsite(admin);
  const event = (fields: object) => ({ type: 'event', payload: { website: website.id, ...fields } });
  const refused: [unknown, string][] = [
    [5, 'event'],
    [null, 'event'],
    [{ payload: { website: website.id } }, 'type'],
    [{ type: 'engagement', payload: { website: website.id } }, 'type'],
    [{ type: 'event' }, 'payload'],
    [{ type: 'event', payload: [] }, 'payload'],
    [{ type: 'event', payload: { url: '/' } }, 'payload.website'],
    [event({ website: 'shop.example' }), 'payload.website'],
    [event({ data: 'text' }), 'payload.data'],
    [event({ data: ['a'] }), 'payload.data'],
    [event({ timestamp: Math.floor(Date.now() / 1_000) + 3_600 }), 'payload.timestamp'],
    [event({ timestamp: 'yesterday' }), 'payload.timestamp'],
  ];
  for (const [element, field] of refused) {
    const answer = await post(`${api}/send`, { 'user-agent': chrome }, element);
    expect([answer.status, answer.body]).toMatchObject([400, { error: { code: 'bad-request', status: 400 } }]);
    expect((answer.body as { error: { properties: object } }).error.properties).toHaveProperty([field]);
  }
  const elements = refused.flatMap(([element], index) => [element, event({ url: `/${index}` })]);
  const batch = await post(`${api}/batch`, { 'user-agent': chrome }, elements);
  expect(batch.body).toMatchObject({ size: 24, processed: 12, errors: 12, ignored: 0 });
  expect(await loggedEvents(admin, website.id, 12)).toHaveLength(12);
});

describe('the body', () => {
  const forms: [string, Record<string, string>, (text: string) => string | Buffer][] = [
    ['without a content type', {}, (text) => text],
    ['as a beacon sends it', { 'content-type': 'text/plain;charset=UTF-8' }, (text) => text],
    ['as bytes', { 'content-type': 'application/octet-stream' }, (text) => text],
    ['with a byte order mark', { 'content-type': 'application/json; charset=utf-8' }, (text) => `\ufeff${text}`],
    ['with line breaks and blanks', {}, (text) => `\r\n  ${JSON.stringify(JSON.parse(text), null, 2)}\n`],
    ['in gzip', { 'content-encoding': 'gzip' }, (text) => gzipSync(text)],
    ['in deflate', { 'content-encoding': 'deflate' }, (text) => deflateSync(text)],
    ['in br', { 'content-encoding': 'br' }, (text) => brotliCompressSync(text)],
  ];
  test.each(forms)('%s is read, by send and by batch', async (_, headers, encode) => {
    const website = await createWebsite(admin);
    const event = (url: string) => ({ type: 'event', payload: { website: website.id, url, title: 'żółw 😀' } });
    const all = { 'user-agent': chrome, ...headers };
    accepted(await post(`${api}/send`, all, encode(JSON.stringify(event('/send')))));
    const batch = await post(`${api}/batch`, all, encode(JSON.stringify([event('/batch')])));
    expect(batch.body).toMatchObject({ processed: 1 });
    const rows = await loggedEvents(admin, website.id, 2);
    expect(rows.map((row) => [row.urlPath, row.pageTitle])).toEqual(['/send', '/batch'].map((url) => [url, 'żółw 😀']));
  });

  test('is taken under every address of the API, with JSON as its answer', async () => {
    const website = await createWebsite(admin);
    const event = { type: 'event', payload: { website: website.id, url: '/' } };
    const bases = ['/api', '/v1', '/v1/us'].flatMap((base) => [`${base}/send`, `${base}/send/`, `${base}/batch`]);
    for (const path of bases) {
      const body = path.endsWith('batch') ? [event] : event;
      const answer = await post(`${meridian.origin}${path}`, { 'user-agent': chrome }, body);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    }
    await expect.poll(() => statsOf(admin, website.id)).toMatchObject({ pageviews: bases.length, visits: 1 });
  });
});

describe('behind a trusted proxy', () => {
  test('truncated addresses that a sender forwards are visitors of their own, wherever it puts them', async () => {
    const website = await createWebsite(admin);
    const page = { website: website.id, url: '/' };
    const first = accepted(await send(page, { 'x-forwarded-for': '203.0.113.0' }));
    const others = ['192.0.2.0', '2001:db8:1::'].map((address) => ({ 'x-forwarded-for': address }));
    for (const headers of others) expect(accepted(await send(page, headers)).sessionId).not.toBe(first.sessionId);
    expect(accepted(await send({ ...page, ip: '203.0.113.0' })).sessionId).toBe(first.sessionId);
    await expect.poll(() => statsOf(admin, website.id)).toMatchObject({ pageviews: 4, visitors: 3, visits: 3 });
  });

  test('an address that is blocked, forwarded or given, is answered that it was ignored', async () => {
    const website = await createWebsite(admin);
    const page = { website: website.id, url: '/' };
    for (const answer of [
      await send(page, { 'x-forwarded-for': '198.51.100.66' }),
      await send({ ...page, ip: '::ffff:198.51.100.1' }),
    ])
      expect([answer.status, answer.body]).toEqual([200, { beep: 'boop', ignored: 'blocked-address' }]);
    accepted(await send({ ...page, url: '/behind them in the log' }));
    expect(await loggedEvents(admin, website.id, 1)).toHaveLength(1);
  });
});
