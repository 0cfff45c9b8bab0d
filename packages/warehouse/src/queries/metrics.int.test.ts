import { expect, test } from 'vitest';
import type { Question } from '../question.ts';
import { at, createTestSite, type TestEvent } from '../test-site.ts';
import { createTestWarehouse } from '../test-warehouse.ts';
import type { MetricType } from './dimensions.ts';
import type { MetricOptions } from './metrics.ts';

const { warehouse } = await createTestWarehouse();

async function siteWith(events: TestEvent[]) {
  const site = createTestSite(warehouse);
  await site.insert(events);
  const rank = (type: MetricType, options: Partial<MetricOptions> = {}) => ({
    type,
    limit: 500,
    offset: 0,
    ...options,
  });
  return {
    metrics: async (type: MetricType, options: Partial<MetricOptions> = {}, question: Partial<Question> = {}) =>
      (await warehouse.getMetrics(site.ask(question), rank(type, options))).value,
    found: async (search: string) =>
      (await warehouse.listEvents(site.ask(), { offset: 0, limit: 20 }, { search })).value.count,
    expanded: async (type: MetricType, question: Partial<Question> = {}) =>
      (await warehouse.getExpandedMetrics(site.ask(question), rank(type))).value,
  };
}

test('y counts distinct visitors, most first, equal ones in code point order, empty values left out', async () => {
  const { metrics } = await siteWith([
    { t: '10:00', session: 'u1', urlPath: '/z', pageTitle: 'Z' },
    { t: '10:01', session: 'u1', urlPath: '/z' },
    { t: '12:00', session: 'u1', visit: 'second', urlPath: '/z' },
    { t: '10:00', session: 'u2', urlPath: '/z' },
    { t: '10:00', session: 'u3', urlPath: '/ä' },
    { t: '10:00', session: 'u3', urlPath: '/b' },
    { t: '10:00', session: 'u3', urlPath: '/B' },
    { t: '10:00', session: 'u3', urlPath: '' },
    { t: '10:00', session: 'u3', urlPath: '/performance', eventType: 5 },
  ]);
  expect(await metrics('path')).toEqual([
    { x: '/z', y: 2 },
    { x: '/B', y: 1 },
    { x: '/b', y: 1 },
    { x: '/ä', y: 1 },
  ]);
  expect(await metrics('title')).toEqual([{ x: 'Z', y: 1 }]);
});

test('a visit whose events differ has each of their values, whenever in a long range it was', async () => {
  const days = [1, 2, 3, 4, 5, 6];
  const { metrics, expanded } = await siteWith(
    days.flatMap((day) => [
      { t: `2026-06-0${day}T10:00:00Z`, session: `u${day}`, browser: 'chrome', country: 'DE' },
      { t: `2026-06-0${day}T10:05:00Z`, session: `u${day}`, browser: day % 2 ? 'firefox' : 'chrome', country: 'DE' },
    ]),
  );
  const range = { startAt: new Date('2026-06-01T10:02:00Z'), endAt: new Date('2026-06-06T10:02:00Z') };
  const [chrome, firefox] = [
    { x: 'chrome', y: 5 },
    { x: 'firefox', y: 3 },
  ];
  expect(await metrics('browser', {}, { range })).toEqual([chrome, firefox]);
  expect(
    await metrics('country', {}, { range, filters: [{ name: 'browser', op: 'eq', values: ['Firefox'] }] }),
  ).toEqual([{ x: 'DE', y: 3 }]);
  expect(await expanded('browser', { range })).toEqual([
    { name: 'chrome', pageviews: 7, visitors: 5, visits: 5, bounces: 1, totaltime: 1200 },
    { name: 'firefox', pageviews: 3, visitors: 3, visits: 3, bounces: 1, totaltime: 600 },
  ]);
});

test('events are counted as often as they happened', async () => {
  const { metrics, expanded } = await siteWith([
    { t: '10:00', session: 'u1', eventType: 2, eventName: 'buy' },
    { t: '10:01', session: 'u1', eventType: 2, eventName: 'buy' },
    { t: '10:01', session: 'u1', eventType: 2, eventName: 'buy' },
    { t: '10:00', session: 'u2', eventType: 2, eventName: 'sign' },
    { t: '10:00', session: 'u3', eventType: 2, eventName: 'sign' },
    { t: '10:00', session: 'u3' },
  ]);
  expect(await metrics('event')).toEqual([
    { x: 'buy', y: 3 },
    { x: 'sign', y: 2 },
  ]);
  expect(await expanded('event')).toEqual([
    { name: 'buy', pageviews: 0, visitors: 1, visits: 1, bounces: 0, totaltime: 60 },
    { name: 'sign', pageviews: 0, visitors: 2, visits: 2, bounces: 1, totaltime: 0 },
  ]);
});

test('a visitor who was identified on the way is one visitor of every value', async () => {
  const { metrics } = await siteWith([
    { t: '10:00', session: 'anonymous', visit: 'v1', urlPath: '/a' },
    { t: '10:01', session: 'jane', visit: 'v1', urlPath: '/b', distinctId: 'jane' },
    { t: '12:00', session: 'jane', visit: 'v2', urlPath: '/a', distinctId: 'jane' },
  ]);
  expect(await metrics('path')).toEqual([
    { x: '/a', y: 1 },
    { x: '/b', y: 1 },
  ]);
  expect(await metrics('distinctId')).toEqual([{ x: 'jane', y: 1 }]);
});

test('entry and exit are the first and last pageview of the visit in the range, equal times in order of collection', async () => {
  const { metrics, expanded } = await siteWith([
    { t: '10:00', session: 'u1', urlPath: '/custom', eventType: 2, eventName: 'x' },
    { t: '10:01', session: 'u1', urlPath: '/first' },
    { t: '10:01', session: 'u1', urlPath: '/middle' },
    { t: '10:01', session: 'u1', urlPath: '/last' },
    { t: '10:02', session: 'u1', urlPath: '/custom', eventType: 2, eventName: 'x' },
    { t: '10:00', session: 'silent', urlPath: '/none', eventType: 2, eventName: 'x' },
  ]);
  expect(await metrics('entry')).toEqual([{ x: '/first', y: 1 }]);
  expect(await metrics('exit')).toEqual([{ x: '/last', y: 1 }]);
  expect(await expanded('entry')).toEqual([
    { name: '/first', pageviews: 3, visitors: 1, visits: 1, bounces: 0, totaltime: 120 },
  ]);
  // The filter selects visits; their entry is judged over all of their pageviews.
  const filtered = { filters: [{ name: 'path', op: 'eq', values: ['/middle'] }] } as const;
  expect(await metrics('entry', {}, filtered)).toEqual([{ x: '/first', y: 1 }]);
  expect(await expanded('entry', filtered)).toEqual([
    { name: '/first', pageviews: 1, visitors: 1, visits: 1, bounces: 0, totaltime: 120 },
  ]);
  const later = { range: { startAt: new Date(at('10:01') + 1), endAt: new Date(at('11:00')) } };
  expect(await metrics('entry', {}, later)).toEqual([]);
});

test('expanded: the five numbers over the events that carry the value, bounce and time of their whole visits', async () => {
  const { expanded } = await siteWith([
    { t: '10:00', session: 'u1', urlPath: '/a', browser: 'Chrome' },
    { t: '10:01', session: 'u1', urlPath: '/b', browser: 'Chrome' },
    { t: '10:02', session: 'u1', urlPath: '/a', browser: 'Chrome', eventType: 2, eventName: 'x' },
    { t: '10:00', session: 'u2', urlPath: '/a', browser: 'Firefox' },
  ]);
  expect(await expanded('path')).toEqual([
    { name: '/a', pageviews: 2, visitors: 2, visits: 2, bounces: 1, totaltime: 120 },
    { name: '/b', pageviews: 1, visitors: 1, visits: 1, bounces: 0, totaltime: 120 },
  ]);
  expect(await expanded('path', { excludeBounce: true, eventType: 1 })).toEqual([
    { name: '/a', pageviews: 1, visitors: 1, visits: 1, bounces: 0, totaltime: 120 },
    { name: '/b', pageviews: 1, visitors: 1, visits: 1, bounces: 0, totaltime: 120 },
  ]);
  expect((await expanded('browser')).map((row) => [row.name, row.pageviews])).toEqual([
    ['Chrome', 2],
    ['Firefox', 1],
  ]);
});

test('regions and cities of one name in two countries are two, and tell their country', async () => {
  const { metrics, expanded } = await siteWith([
    { t: '10:00', session: 'u1', country: 'GB', region: 'GB-ENG', city: 'London' },
    { t: '10:00', session: 'u2', country: 'CA', region: 'CA-ON', city: 'London' },
    { t: '10:00', session: 'u3', country: 'CA', region: 'CA-ON', city: 'London' },
  ]);
  expect(await metrics('city')).toEqual([
    { x: 'London', y: 2, country: 'CA' },
    { x: 'London', y: 1, country: 'GB' },
  ]);
  expect(await metrics('region')).toEqual([
    { x: 'CA-ON', y: 2, country: 'CA' },
    { x: 'GB-ENG', y: 1, country: 'GB' },
  ]);
  expect((await expanded('city')).map(({ name, country, visits }) => [name, country, visits])).toEqual([
    ['London', 'CA', 2],
    ['London', 'GB', 1],
  ]);
});

test('the own host is no referrer, languages are two lower-case letters', async () => {
  const { metrics } = await siteWith([
    { t: '10:00', session: 'u1', hostname: 'www.shop.example', referrerDomain: 'shop.example', language: 'de-DE' },
    { t: '10:00', session: 'u2', hostname: 'shop.example', referrerDomain: 'shop.example', language: 'DE-at' },
    { t: '10:00', session: 'u3', hostname: 'shop.example', referrerDomain: 'search.example', language: 'en' },
  ]);
  for (const type of ['referrer', 'domain'] as const)
    expect(await metrics(type)).toEqual([{ x: 'search.example', y: 1 }]);
  expect(await metrics('language')).toEqual([
    { x: 'de', y: 2 },
    { x: 'en', y: 1 },
  ]);
});

test('limit and offset cut the ranking, search keeps values that contain the text', async () => {
  const { metrics } = await siteWith(
    ['100%', 'Alpha', 'alpine', 'Beta'].map((pageTitle, i) => ({ t: '10:00', session: `u${i}`, pageTitle })),
  );
  const titles = async (options: Partial<MetricOptions>) => (await metrics('title', options)).map((row) => row.x);
  expect(await titles({ limit: 2, offset: 1 })).toEqual(['Alpha', 'Beta']);
  expect(await titles({ offset: 10 })).toEqual([]);
  expect(await titles({ search: 'ALP' })).toEqual(['Alpha', 'alpine']);
  expect(await titles({ search: '%' })).toEqual(['100%']);
});

test('a visit has the channel of its first event, and every visit has one', async () => {
  const sources: Record<string, Partial<TestEvent>> = {
    direct: {},
    referral: { referrerDomain: 'blog.example' },
    organicSearch: { referrerDomain: 'www.google.co.uk' },
    paidSearch: { referrerDomain: 'google.com', gclid: 'x' },
    organicSocial: { referrerDomain: 'l.facebook.com', fbclid: 'x' },
    paidSocial: { utmSource: 'facebook', utmMedium: 'cpc' },
    organicVideo: { referrerDomain: 'm.youtube.com' },
    paidVideo: { referrerDomain: 'youtube.com', utmMedium: 'cpv' },
    organicShopping: { referrerDomain: 'shopping.google.com' },
    paidShopping: { referrerDomain: 'amazon.de', utmMedium: 'ppc' },
    paidAds: { utmSource: 'partner', utmMedium: 'display' },
    email: { utmSource: 'news', utmMedium: 'mail' },
    affiliate: { utmSource: 'x', utmMedium: 'affiliates' },
    sms: { utmMedium: 'sms' },
    llm: { referrerDomain: 'chatgpt.com' },
  };
  const { metrics } = await siteWith([
    ...Object.entries(sources).map(([session, fields]) => ({ t: '10:00', session, ...fields })),
    ...Object.keys(sources).map((session) => ({ t: '10:01', session, referrerDomain: 'later.example' })),
    { t: '10:00', session: 'own', referrerDomain: 'shop.example' },
    { t: '10:00', session: 'custom', eventType: 2, eventName: 'x' },
  ]);
  const channels = Object.fromEntries((await metrics('channel')).map(({ x, y }) => [x, y]));
  expect(channels).toEqual({ ...Object.fromEntries(Object.keys(sources).map((channel) => [channel, 1])), direct: 3 });
});

test.each([
  [
    'email',
    [
      'mail.google.com',
      'com.google.android.gm',
      'mail.aol.com',
      'outlook.live.com',
      'mail.zoho.eu',
      'mail.yahoo.co.jp',
      'mail.de',
      'web.mail.com',
    ],
  ],
  ['organicSearch', ['google.com.br', 'com.google.android.googlequicksearchbox', 'yandex.com.tr', 'yahoo.co.jp']],
  ['referral', ['mail.acme.com', 'email.acme.io', 'newsletter.blog.de', 'bing.acme.com', 'gm.android.google.example']],
] as const)(
  '%s: a known source counts under its own endings, not below the domain of somebody else',
  async (x, domains) => {
    const { metrics } = await siteWith(
      domains.map((referrerDomain) => ({ t: '10:00', session: referrerDomain, referrerDomain })),
    );
    expect(await metrics('channel')).toEqual([{ x, y: domains.length }]);
  },
);

test('hundreds of long texts full of quotes are ranked, expanded and found as short ones are', async () => {
  const long = Array.from({ length: 200 }, (_, i) => `/${"'".repeat(490)}${1000 + i}`);
  const { metrics, expanded, found } = await siteWith(long.map((urlPath) => ({ t: '10:00', urlPath })));
  const ranked = long.map((x) => ({ x, y: 1 }));
  expect(await metrics('path')).toEqual(ranked);
  expect((await expanded('path')).map(({ name }) => name)).toEqual(long);
  expect(await found("'''")).toBe(200);
  expect(await found('1007')).toBe(1);
});

test.each([5, 50])(
  '%i pages that one visitor views again and again rank behind those of many visitors',
  async (viewedAgain) => {
    const { metrics } = await siteWith([
      ...Array.from({ length: viewedAgain * 20 }, (_, i) => ({
        t: '10:00',
        session: 'again',
        urlPath: `/again/${i % viewedAgain}`,
      })),
      ...Array.from({ length: 45 }, (_, i) => ({ t: '10:00', session: `u${i}`, urlPath: `/read/${i % 3}` })),
    ]);
    const read = [0, 1, 2].map((i) => ({ x: `/read/${i}`, y: 15 }));
    expect(await metrics('path', { limit: 3 })).toEqual(read);
    expect(await metrics('path', { limit: 4 })).toEqual([...read, { x: '/again/0', y: 1 }]);
    expect(await metrics('path', { limit: 1, offset: 1 })).toEqual([read[1]]);
  },
);
