/// <reference lib="dom" />
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createWebsite, logIn } from '../api-client.ts';
import { loggedEvents, statsOf } from '../collector.ts';
import { startMeridian } from '../meridian.ts';
import { openShop, type Shop, type Tracker } from '../shop.ts';

// A page of another origin loads a tracker, as customers' pages do; what became of it is asked of the query API.
const meridian = await startMeridian({ FLUSH_MAX_WAIT_MS: '10' });
const admin = await logIn(`${meridian.origin}/api`, 'admin', meridian.password);
let shop: Shop;

beforeAll(async () => {
  shop = await openShop(meridian.origin);
}, 300_000);

afterEach(() => shop.closePages());

afterAll(async () => {
  await shop?.close();
  await meridian.stop();
});

/** All answers as the page's script saw them, once every request has its answer. */
async function settledAnswers(page: Awaited<ReturnType<Shop['newPage']>>): Promise<Tracker['answers']> {
  return page.evaluate(async () => {
    await window.tracker.settled();
    return window.tracker.answers;
  });
}

test('pageview, event, identify and performance of one page are one visitor and one visit, with the token passed on', async () => {
  const website = await createWebsite(admin);
  const page = await shop.newPage();
  await page.goto(shop.trackedPage('/products', { website: website.id }));
  await page.evaluate(async () => {
    await window.tracker.track('add-to-cart', { sku: 'A-1', price: 19.9 });
    await window.tracker.identify('user-42', { plan: 'pro' });
    await window.tracker.track('checkout');
    await window.tracker.measure({ lcp: 1200.5, inp: 80, cls: 0.02, fcp: 600, ttfb: 90 });
  });
  const answers = await settledAnswers(page);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(new Set(answers.map(({ body }) => body.visitId)).size).toBe(1);
  expect(new Set(answers.map(({ body }) => body.cache)).size).toBeGreaterThan(1);

  const rows = await loggedEvents(admin, website.id, 3);
  expect(rows.map((row) => [row.eventType, row.eventName, row.hasData, row.distinctId])).toEqual([
    [1, '', false, ''],
    [2, 'add-to-cart', true, ''],
    [2, 'checkout', false, 'user-42'],
  ]);
  for (const row of rows) {
    expect(row).toMatchObject({ urlPath: '/products', pageTitle: 'Shop /products', hostname: 'localhost' });
    expect(row).toMatchObject({ os: 'Linux', device: 'desktop', browser: expect.stringContaining('Chrome') });
  }
  await expect
    .poll(() => statsOf(admin, website.id))
    .toMatchObject({ pageviews: 1, visitors: 1, visits: 1, bounces: 1 });
  const [measured] = await loggedEvents(admin, website.id, 1, { eventType: 5 });
  expect(measured).toMatchObject({ urlPath: '/products', eventType: 5 });
});

test.each(['omit', 'include'] as const)(
  'with credentials: %s the page sends, reads the answer and stays in its visit',
  async (credentials) => {
    const website = await createWebsite(admin);
    const page = await shop.newPage();
    await page.goto(shop.trackedPage('/a', { website: website.id, credentials }));
    await settledAnswers(page);
    // A new document: the token is lost, the visit is not.
    await page.goto(shop.trackedPage('/b', { website: website.id, credentials }));
    await page.evaluate(() => window.tracker.track('scrolled'));
    expect((await settledAnswers(page)).map(({ status }) => status)).toEqual([200, 200]);
    const rows = await loggedEvents(admin, website.id, 3);
    expect(rows.map((row) => [row.urlPath, row.eventName])).toEqual([
      ['/a', ''],
      ['/b', ''],
      ['/b', 'scrolled'],
    ]);
    await expect
      .poll(() => statsOf(admin, website.id))
      .toMatchObject({ pageviews: 2, visitors: 1, visits: 1, bounces: 0 });
  },
);

test('each step of a single-page app is a pageview with the step before as its referrer', async () => {
  const website = await createWebsite(admin);
  const page = await shop.newPage();
  await page.goto(shop.trackedPage('/start', { website: website.id }));
  await page.evaluate(() => {
    history.pushState({}, '', '/products?size=2');
    history.pushState({}, '', '/products/shoe#details');
    history.pushState({}, '', '/café');
  });
  expect(await settledAnswers(page)).toHaveLength(4);
  const rows = await loggedEvents(admin, website.id, 4);
  expect(rows.map((row) => [row.urlPath, row.referrerPath, row.referrerDomain])).toEqual([
    ['/start', '', ''],
    ['/products', '/start', ''],
    ['/products/shoe#details', '/products', ''],
    ['/café', '/products/shoe#details', ''],
  ]);
  expect(rows[1]?.urlQuery).toBe('size=2');
  await expect
    .poll(() => statsOf(admin, website.id))
    .toMatchObject({ pageviews: 4, visitors: 1, visits: 1, bounces: 0 });
});
