import { afterAll, expect, test } from 'vitest';
import { chrome, createWebsite, logIn } from '../api-client.ts';
import { accepted, loggedEvents, post, ranking, statsOf } from '../collector.ts';
import { startMeridian } from '../meridian.ts';

// What Umami's tracker scripts put on the wire, request by request; that browsers can send it is shown in a real
// browser in browser.test.ts.
const meridian = await startMeridian({ FLUSH_MAX_WAIT_MS: '10' });
const api = `${meridian.origin}/api`;
const admin = await logIn(api, 'admin', meridian.password);
afterAll(() => meridian.stop());

const browserHeaders = {
  'content-type': 'application/json',
  'user-agent': chrome,
  accept: '*/*',
  'accept-language': 'de-AT,de;q=0.9',
  origin: 'https://www.shop.example',
  referer: 'https://www.shop.example/',
  'sec-fetch-mode': 'cors',
  'sec-fetch-site': 'cross-site',
};

type Fields = Record<string, unknown>;

/** A page with the tracker on it: it hands back the token of the last answer, and none at first. */
function openPage(websiteId: string, newerHeaders = false) {
  let cache: string | undefined;
  const pageFields = {
    website: websiteId,
    screen: '1920x1080',
    language: 'de-AT',
    title: 'Shop',
    hostname: 'www.shop.example',
    url: 'https://www.shop.example/',
    referrer: '',
    tag: undefined, // vanishes in JSON, as do all that are undefined
    id: undefined,
  };
  async function send(payload: Fields, type = 'event') {
    const headers: Record<string, string> = { ...browserHeaders };
    if (newerHeaders)
      Object.assign(headers, { 'x-umami-website-id': websiteId, 'x-umami-hostname': 'www.shop.example' });
    if (cache !== undefined) headers['x-umami-cache'] = cache;
    const answer = await post(`${api}/send`, headers, { type, payload });
    const stored = accepted(answer);
    expect(answer.body).not.toHaveProperty('disabled');
    cache = stored.cache;
    return stored;
  }
  return {
    send,
    track: (fields: Fields = {}) => send({ ...pageFields, ...fields }),
    /** The script forgets its token when it identifies, and sends the header empty. */
    identify(fields: Fields) {
      cache = '';
      return send({ ...pageFields, ...fields }, 'identify');
    },
    sendHeader: (value: string) => {
      cache = value;
    },
  };
}

test('tracker v3: absolute URLs, no token at first and then the token, are one visitor and one visit on two pages', async () => {
  const website = await createWebsite(admin);
  const page = openPage(website.id, true);
  const first = await page.track({ url: 'https://www.shop.example/?utm_source=news', title: 'Home' });
  const second = await page.track({
    url: 'https://www.shop.example/caf%C3%A9?size=2#reviews',
    referrer: 'https://www.shop.example/?utm_source=news',
    title: 'Café',
  });
  expect([second.sessionId, second.visitId]).toEqual([first.sessionId, first.visitId]);

  const [home, cafe] = await loggedEvents(admin, website.id, 2);
  expect(home).toMatchObject({
    sessionId: first.sessionId,
    eventType: 1,
    eventName: '',
    urlPath: '/',
    urlQuery: 'utm_source=news',
    referrerDomain: '',
    pageTitle: 'Home',
    hostname: 'www.shop.example',
    browser: 'Chrome',
    os: 'Windows',
    device: 'desktop',
    distinctId: '',
    tag: '',
    hasData: false,
  });
  expect(cafe).toMatchObject({ urlPath: '/café#reviews', urlQuery: 'size=2', referrerDomain: '', referrerPath: '/' });
  await expect
    .poll(() => statsOf(admin, website.id))
    .toMatchObject({ pageviews: 2, visitors: 1, visits: 1, bounces: 0 });
  for (const [type, value] of [
    ['screen', '1920x1080'],
    ['language', 'de'],
    ['utmSource', 'news'],
  ] as const)
    expect(await ranking(admin, website.id, type)).toEqual({ [value]: 1 });
});

test('tracker v2: path and query instead of absolute URLs are the same pages, and the referrer of another site is kept', async () => {
  const website = await createWebsite(admin);
  const page = openPage(website.id);
  await page.track({ url: '/products?size=2', referrer: 'https://www.search.example/find?q=shoes' });
  await page.track({
    url: 'https://www.shop.example/products?size=2',
    referrer: 'https://www.search.example/find?q=shoes',
  });
  const rows = await loggedEvents(admin, website.id, 2);
  for (const row of rows) {
    expect(row).toMatchObject({ urlPath: '/products', urlQuery: 'size=2', hostname: 'www.shop.example' });
    expect(row).toMatchObject({ referrerDomain: 'search.example', referrerPath: '/find' });
  }
  await expect.poll(() => statsOf(admin, website.id, { path: '/products' })).toMatchObject({ pageviews: 2, visits: 1 });
});

test('tracker with data-tag and data-distinct-id: both are on every event, and the id makes the visitor', async () => {
  const website = await createWebsite(admin);
  const [phone, laptop] = [openPage(website.id), openPage(website.id)];
  const own = { tag: 'variant-b', id: 'customer 7' };
  const first = await phone.track(own);
  const second = await laptop.track({ ...own, name: 'signup' });
  expect(second.sessionId).toBe(first.sessionId);
  for (const row of await loggedEvents(admin, website.id, 2))
    expect(row).toMatchObject({ tag: 'variant-b', distinctId: 'customer 7' });
});

test('tracker identify(id, data) with an empty token header: no row, no pageview; what follows carries the id', async () => {
  const website = await createWebsite(admin);
  const page = openPage(website.id);
  const anonymous = await page.track({ url: 'https://www.shop.example/login' });
  const identified = await page.identify({ id: 'user-42', data: { plan: 'pro', seats: 3, address: { city: 'Graz' } } });
  const next = await page.track({ url: 'https://www.shop.example/account', id: 'user-42' });
  expect(next).toMatchObject({ sessionId: identified.sessionId, visitId: identified.visitId });
  // The script threw the token away, so nothing tells that it was the same person before.
  expect(next.sessionId).not.toBe(anonymous.sessionId);
  expect((await loggedEvents(admin, website.id, 2)).map((row) => [row.urlPath, row.distinctId])).toEqual([
    ['/login', ''],
    ['/account', 'user-42'],
  ]);
  await expect
    .poll(() => statsOf(admin, website.id, { distinctId: 'user-42' }))
    .toMatchObject({ pageviews: 1, visits: 1 });
});

test('tracker identify(data) without an id stays with the anonymous visitor', async () => {
  const website = await createWebsite(admin);
  const page = openPage(website.id);
  const before = await page.track();
  const identified = await page.identify({ data: { plan: 'pro' } });
  const after = await page.track({ url: '/next' });
  for (const answer of [identified, after])
    expect(answer).toMatchObject({ sessionId: before.sessionId, visitId: before.visitId });
  await expect.poll(() => statsOf(admin, website.id)).toMatchObject({ pageviews: 2, visitors: 1, visits: 1 });
});

test.each(['', 'undefined', 'null', '[object Object]', 'eyJhbGciOiJIUzI1NiJ9.eyJ2aXNpdElkIjoiMSJ9.c2lnbmF0dXJl'])(
  'tracker with %j as its token is the visitor that it would be without',
  async (token) => {
    const website = await createWebsite(admin);
    const page = openPage(website.id);
    const first = await page.track();
    page.sendHeader(token);
    expect(await page.track({ url: '/next' })).toMatchObject({ sessionId: first.sessionId, visitId: first.visitId });
    await expect.poll(() => statsOf(admin, website.id)).toMatchObject({ pageviews: 2, visitors: 1, visits: 1 });
  },
);

test('tracker data attributes: an event with texts as its data, on the page where it was clicked', async () => {
  const website = await createWebsite(admin);
  const page = openPage(website.id);
  await page.track({ url: '/cart' });
  const data = { price: '19.90', currency: 'EUR', count: '2', gift: 'true', 'ünï-çödé': '' };
  await page.track({ url: '/cart', name: 'buy-button', data });
  await page.track({ url: '/cart', name: 'without data', data: {} });
  const [, bought, plain] = await loggedEvents(admin, website.id, 3);
  expect(bought).toMatchObject({ eventType: 2, eventName: 'buy-button', urlPath: '/cart', hasData: true });
  expect(plain).toMatchObject({ eventType: 2, eventName: 'without data', hasData: false });
  await expect
    .poll(() => statsOf(admin, website.id))
    .toMatchObject({ pageviews: 1, visitors: 1, visits: 1, bounces: 1 });
});

test('tracker track(object): any field may be missing, and fields that nobody knows change nothing', async () => {
  const website = await createWebsite(admin);
  const { send } = openPage(website.id);
  const objects: [Fields, Fields][] = [
    [{}, { eventType: 1, urlPath: '', hostname: '', pageTitle: '' }],
    [{ url: '/only-url' }, { eventType: 1, urlPath: '/only-url' }],
    [{ url: 'https://other.example/page' }, { urlPath: '/page', hostname: 'other.example' }],
    [{ name: 'only name' }, { eventType: 2, eventName: 'only name', urlPath: '' }],
    [
      { title: 'only title', referrer: 'https://from.example' },
      { pageTitle: 'only title', referrerDomain: 'from.example' },
    ],
    [{ data: { a: 1 } }, { eventType: 1, hasData: true }],
    [
      { url: '/extra', vid: '5f0c', revenue: { amount: 1 }, list: [[1], {}], event_name: 'x', __proto__x: 1 },
      { eventType: 1, urlPath: '/extra', eventName: '' },
    ],
  ];
  for (const [fields] of objects) await send({ website: website.id, ...fields });
  const rows = await loggedEvents(admin, website.id, objects.length);
  for (const [index, [, expected]] of objects.entries()) expect(rows[index]).toMatchObject(expected);
  await expect.poll(() => statsOf(admin, website.id)).toMatchObject({ pageviews: 6, visitors: 1, visits: 1 });
});

test('tracker performance: measured once with some vitals missing and a duration, it is in no number and only asked for in the log', async () => {
  const website = await createWebsite(admin);
  const page = openPage(website.id);
  const seen = await page.track({ url: '/slow' });
  const measured = { website: website.id, url: '/slow', hostname: 'www.shop.example', title: 'Slow' };
  const answer = await page.send({ ...measured, lcp: 2500.4, fcp: 900, cls: 0.02, duration: 10_000 }, 'performance');
  expect(answer).toMatchObject({ sessionId: seen.sessionId, visitId: seen.visitId });
  await page.send({ ...measured, ttfb: 80 }, 'performance');
  await page.send({ ...measured }, 'performance');
  for (const row of await loggedEvents(admin, website.id, 3, { eventType: 5 }))
    expect(row).toMatchObject({ eventType: 5, urlPath: '/slow', sessionId: seen.sessionId, eventName: '' });
  expect(await loggedEvents(admin, website.id, 1)).toMatchObject([{ eventType: 1 }]);
  expect(await statsOf(admin, website.id)).toMatchObject({ pageviews: 1, visits: 1, bounces: 1, totaltime: 0 });
});
