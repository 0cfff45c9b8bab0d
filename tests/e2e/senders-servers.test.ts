import { afterAll, expect, test } from 'vitest';
import { chrome, createWebsite, eventually, logIn } from '../api-client.ts';
import { accepted, type LoggedEvent, loggedEvents, post, statsOf } from '../collector.ts';
import { startMeridian } from '../meridian.ts';

// What senders on servers and in apps put on the wire; those that npm has run themselves in clients.test.ts.
const meridian = await startMeridian({ FLUSH_MAX_WAIT_MS: '10' });
const api = `${meridian.origin}/api`;
const admin = await logIn(api, 'admin', meridian.password);
afterAll(() => meridian.stop());

const json = { 'content-type': 'application/json', accept: 'application/json' };
const firefox = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:121.0) Gecko/20100101 Firefox/121.0';
const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';
const googlebot = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';

const python = {
  ...json,
  accept: '*/*',
  'accept-encoding': 'gzip, deflate',
  connection: 'keep-alive',
  'user-agent': firefox,
  authorization: 'Bearer None',
};
const pythonFields = { hostname: 'shop.example', language: 'en-US', referrer: '', screen: '1920x1080' };
const php = { ...json, 'user-agent': 'umami-php/1.0 (+https://github.com/AdrienGras/umami-php)' };
const kotlin = 'Mozilla/5.0 (Android; 1.0; Unknown) UmamiKmpSdk/1.0.0';
const go = { 'content-type': 'application/json', 'user-agent': 'Go-http-client/1.1', 'accept-encoding': 'gzip' };

type Sender = {
  sender: string;
  headers: Record<string, string>;
  /** Beside the website; its absence makes a `type` of event. */
  payload: Record<string, unknown>;
  type?: string;
  row: Partial<LoggedEvent>;
};

const senders: Sender[] = [
  {
    sender: 'umami-python new_event() with its empty data and a bearer of None',
    headers: python,
    payload: { ...pythonFields, title: 'signup', url: '/event-api-endpoint', name: 'signup', data: {} },
    row: {
      eventType: 2,
      eventName: 'signup',
      urlPath: '/event-api-endpoint',
      hasData: false,
      browser: 'Firefox',
      os: 'Mac OS',
    },
  },
  {
    sender: 'umami-python new_event() with data, the address and the id of its user',
    headers: python,
    payload: { ...pythonFields, title: 'buy', url: '/', name: 'buy', data: { seats: 3 }, ip: '8.8.8.8', id: 'user-7' },
    row: { eventType: 2, eventName: 'buy', hasData: true, country: 'US', distinctId: 'user-7' },
  },
  {
    sender: 'umami-python new_page_view()',
    headers: python,
    payload: { ...pythonFields, title: 'Course', url: '/courses/1' },
    row: { eventType: 1, pageTitle: 'Course', urlPath: '/courses/1', hostname: 'shop.example', referrerDomain: '' },
  },
  {
    sender: 'umami-php (AdrienGras) with its own User-Agent',
    headers: php,
    payload: { hostname: 'shop.example', url: '/checkout', title: 'Checkout' },
    row: { eventType: 1, urlPath: '/checkout', browser: '', device: 'desktop' },
  },
  {
    sender: "umami-php (AdrienGras) with its visitor's User-Agent, address and time",
    headers: php,
    payload: {
      url: '/order',
      name: 'order',
      userAgent: iphone,
      ip: '8.8.8.8',
      timestamp: 1_780_000_000,
      data: { n: 1 },
    },
    row: {
      eventName: 'order',
      browser: 'Safari',
      os: 'iOS',
      device: 'mobile',
      country: 'US',
      createdAt: '2026-05-28T20:26:40.000Z',
    },
  },
  {
    sender: 'umami-php-sdk (deinte) and its Laravel package, which send their API key along',
    headers: { ...json, 'user-agent': 'GuzzleHttp/7', 'x-umami-api-key': 'not-one-of-ours' },
    payload: { url: '/laravel', title: 'Laravel', hostname: 'shop.example', free: { form: ['body'] } },
    row: { eventType: 1, urlPath: '/laravel' },
  },
  {
    sender: 'a Rust program (reqwest, serde) that writes null for what it has not',
    headers: { ...json, accept: '*/*', 'user-agent': 'shop-backend/0.3.1' },
    payload: { hostname: null, url: '/rust', name: null, language: null, data: null },
    row: { eventType: 1, eventName: '', urlPath: '/rust', hostname: '', hasData: false },
  },
  {
    sender: 'a Rust event with null for hostname, language and data',
    headers: { ...json, accept: '*/*', 'user-agent': 'shop-backend/0.3.1' },
    payload: { hostname: null, url: '/rust', name: 'started', language: null, data: null },
    row: { eventType: 2, eventName: 'started' },
  },
  {
    sender: "a Deno or Workers function that forwards its visitor's User-Agent and a truncated IPv4 address",
    headers: { 'content-type': 'application/json', 'user-agent': iphone, 'x-forwarded-for': '8.8.8.0' },
    payload: { url: 'https://shop.example/edge', hostname: 'shop.example', ip: '8.8.8.0' },
    row: { urlPath: '/edge', browser: 'Safari', os: 'iOS', country: 'US' },
  },
  {
    sender: 'a Next.js middleware with a truncated IPv6 address and a string of JSON as text',
    headers: { 'content-type': 'text/plain;charset=UTF-8', 'user-agent': 'node' },
    payload: { url: '/next', ip: '2001:4860:4860::', userAgent: chrome },
    row: { urlPath: '/next', browser: 'Chrome', os: 'Windows', country: 'US' },
  },
  {
    sender: 'a Deno server under a name of its own',
    headers: { 'content-type': 'application/json', 'user-agent': 'ens-agent/1.0', accept: '*/*' },
    payload: { url: '/name', hostname: 'ens.example', title: 'Name' },
    row: { urlPath: '/name', hostname: 'ens.example' },
  },
  {
    sender: 'umami-mcp (older) with the type pageview and a session token',
    headers: { ...json, 'user-agent': 'node', authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln' },
    payload: { hostname: 'shop.example', url: '/checkout' },
    type: 'pageview',
    row: { eventType: 1, urlPath: '/checkout' },
  },
  {
    sender: 'umami-mcp (older) with an event',
    headers: { ...json, 'user-agent': 'axios/1.7.2' },
    payload: { hostname: 'shop.example', url: '/checkout', name: 'paid', data: { amount: 5, items: [1, 2] } },
    row: { eventType: 2, eventName: 'paid', hasData: true },
  },
  {
    sender: 'a Go program whose struct has misspelt and empty fields',
    headers: go,
    payload: { hostname: 'shop.example', langugage: 'en', screen: '', url: '/go', referrer: '', title: '' },
    row: { eventType: 1, urlPath: '/go', pageTitle: '', referrerDomain: '', hostname: 'shop.example' },
  },
  {
    sender: 'a WordPress plugin that sends from PHP',
    headers: { ...json, accept: '*/*', 'user-agent': 'WordPress/6.5.4; https://shop.example' },
    payload: { hostname: 'shop.example', url: '/?p=12', name: 'order_completed', data: { order: 12, total: '9.50' } },
    row: { eventType: 2, eventName: 'order_completed', urlPath: '/', urlQuery: 'p=12', hasData: true },
  },
  ...[
    'python-requests/2.32.3',
    'python-httpx/0.27.0',
    'curl/8.5.0',
    'okhttp/4.12.0',
    'Dart/3.4 (dart:io)',
    'Mozilla/5.0',
  ].map((userAgent) => ({
    sender: `a script that says no more of itself than ${userAgent}`,
    headers: { 'user-agent': userAgent },
    payload: { url: '/script' },
    row: { urlPath: '/script', device: 'desktop' },
  })),
];

test.each(senders.map((sender) => [sender.sender, sender] as const))(
  '%s: stored as it was meant, as one visitor and one visit',
  async (_, { headers, payload, type, row }) => {
    const website = await createWebsite(admin);
    const body = { type: type ?? 'event', payload: { website: website.id, ...payload } };
    const { sessionId } = accepted(await post(`${api}/send`, headers, body));
    expect(await loggedEvents(admin, website.id, 1)).toMatchObject([{ ...row, sessionId }]);
    const pageviews = row.eventName ? 0 : 1;
    await expect.poll(() => statsOf(admin, website.id)).toMatchObject({ pageviews, visitors: 1, visits: 1 });
  },
);

test('umami-php (AdrienGras) batch: an array at the root, counted by its answer, and the visitors are told apart', async () => {
  const website = await createWebsite(admin);
  const hit = (url: string, userAgent: string) => ({ type: 'event', payload: { website: website.id, url, userAgent } });
  const answer = await post(`${api}/batch`, php, [hit('/a', chrome), hit('/b', iphone), hit('/c', chrome)]);
  expect(answer.body).toMatchObject({ size: 3, processed: 3, errors: 0, details: [], cache: expect.any(String) });
  const rows = await loggedEvents(admin, website.id, 3);
  expect(rows.map((row) => [row.urlPath, row.browser])).toEqual([
    ['/a', 'Chrome'],
    ['/b', 'Safari'],
    ['/c', 'Chrome'],
  ]);
  await expect
    .poll(() => statsOf(admin, website.id))
    .toMatchObject({ pageviews: 3, visitors: 2, visits: 2, bounces: 1 });
});

test('umami-mcp (older) batch: the events stand in an object', async () => {
  const website = await createWebsite(admin);
  const event = (url: string) => ({ type: 'pageview', payload: { website: website.id, url } });
  const answer = await post(`${api}/batch`, { ...json, 'user-agent': 'node' }, { events: [event('/a'), event('/b')] });
  expect(answer.body).toMatchObject({ size: 2, processed: 2, errors: 0 });
  expect((await loggedEvents(admin, website.id, 2)).map((row) => row.urlPath)).toEqual(['/a', '/b']);
});

test('umami-kotlin: texts as data, a time in seconds, its token kept: one visit, identified on the way', async () => {
  const website = await createWebsite(admin);
  const seconds = Math.floor(Date.now() / 1_000);
  const headers: Record<string, string> = { ...json, 'user-agent': kotlin };
  const send = async (type: string, payload: object) => {
    const fields = { website: website.id, hostname: 'app.example', userAgent: kotlin, timestamp: seconds, ...payload };
    const answer = accepted(await post(`${api}/send`, headers, { type, payload: fields }));
    headers['x-umami-cache'] = answer.cache;
    return answer;
  };
  const opened = await send('event', { url: '/home', title: 'Home', language: 'pt-BR', screen: '1080x2400' });
  const identified = await send('identify', { id: 'user-9', data: { plan: 'pro', trial: 'false', missing: null } });
  const bought = await send('event', { name: 'buy', url: '/shop', data: { price: '19.9', at: null } });
  expect(new Set([opened, identified, bought].map((answer) => answer.visitId)).size).toBe(1);
  const createdAt = new Date(seconds * 1_000).toISOString();
  expect(await loggedEvents(admin, website.id, 2)).toMatchObject([
    { urlPath: '/home', distinctId: '', os: 'Android', createdAt },
    { eventName: 'buy', distinctId: 'user-9', hasData: true, createdAt },
  ]);
  await expect.poll(() => statsOf(admin, website.id)).toMatchObject({ pageviews: 1, visitors: 1, visits: 1 });
});

test('who sends no User-Agent, as reqwest and Workers do unless told, or a blank one, is answered that nothing was stored', async () => {
  const website = await createWebsite(admin);
  const body = { type: 'event', payload: { website: website.id, url: '/lost', userAgent: chrome } };
  for (const headers of [{ ...json }, { ...json, 'user-agent': '' }, { ...json, 'user-agent': '  ' }]) {
    const sent = await post(`${api}/send`, headers, body);
    expect([sent.status, sent.body]).toEqual([200, { beep: 'boop', ignored: 'no-user-agent' }]);
    const batch = await post(`${api}/batch`, headers, [body, body]);
    expect([batch.status, batch.body]).toMatchObject([
      200,
      { size: 2, processed: 0, errors: 0, ignored: 2, cache: null },
    ]);
  }
  // What comes later is behind it in the log.
  await post(`${api}/send`, go, { type: 'event', payload: { website: website.id, url: '/kept' } });
  expect((await loggedEvents(admin, website.id, 1)).map((row) => row.urlPath)).toEqual(['/kept']);
});

test('a sender that forwards a crawler is told so, by the beep that PHP and Kotlin clients look for', async () => {
  const website = await createWebsite(admin);
  const payload = { website: website.id, url: '/', userAgent: googlebot };
  const answer = await post(`${api}/send`, php, { type: 'event', payload });
  expect([answer.status, answer.body]).toEqual([200, { beep: 'boop', ignored: 'crawler' }]);
});

test('the official client before 0.81 with an API key, and any other credential, may collect: none is looked at', async () => {
  const website = await createWebsite(admin);
  const { key } = await admin.ok<{ key: string }>('POST', '/me/api-keys', { name: 'old client' });
  const credentials: Record<string, string>[] = [
    { 'x-umami-api-key': key },
    { 'x-umami-api-key': 'revoked' },
    { authorization: `Bearer ${key}`, 'x-umami-api-key': 'other' },
    ...['Bearer undefined', 'bearer null', 'Basic YTpi', 'Bearer', ''].map((authorization) => ({ authorization })),
  ];
  for (const [index, credential] of credentials.entries()) {
    const payload = { website: website.id, url: `/${index}` };
    const headers = { ...json, 'user-agent': 'node', ...credential };
    expect((await post(`${api}/send`, headers, { type: 'event', payload })).status).toBe(200);
  }
  await eventually(
    () => statsOf(admin, website.id),
    (stats) => stats.pageviews === credentials.length,
  );
});
