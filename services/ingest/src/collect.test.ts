import { expect, test } from 'vitest';
import type { CacheToken } from './cache-token.ts';
import { createClientProfiles } from './client/client-profile.ts';
import { nowhere } from './client/geo.ts';
import { type CollectDeps, type CollectOutcome, createCollect, type Sender } from './collect.ts';
import { createSessionIds } from './session-ids.ts';

const website = '0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f50';
const otherWebsite = '0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f51';
const foreignWebsite = '0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f52';
const awayWebsite = '0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f53';
const now = Date.parse('2026-06-10T10:00:00.250Z');
const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';
const googlebot = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';

const regions = new Map([
  [website, 'us'],
  [otherWebsite, 'us'],
  [foreignWebsite, 'eu'],
]);
const deps: CollectDeps = {
  region: 'us',
  isPeer: () => false,
  websites: {
    find: (id) => {
      const region = regions.get(id);
      if (id === awayWebsite) return Promise.reject(new Error('away'));
      return region === undefined ? null : { region };
    },
    forget: () => {},
    doubtAll: () => {},
  },
  sessions: createSessionIds('a secret of at least thirty-two bytes'),
  profileOf: createClientProfiles('crawlers'),
  placeOf: (address) => (address === '203.0.113.7' ? { country: 'DE', region: 'DE-BE', city: 'Berlin' } : nowhere),
  isBlocked: (address) => address === '192.0.2.66',
  allowOverrides: true,
};

const sender: Sender = {
  userAgent: chrome,
  address: '203.0.113.7',
  place: null,
  token: null,
  isPeer: false,
  nowMs: now,
};

type Options = { sender?: Partial<Sender>; deps?: Partial<CollectDeps>; type?: string };

async function outcomeOf(payload: object, options: Options = {}): Promise<CollectOutcome> {
  const element = { type: options.type ?? 'event', payload: { website, ...payload } };
  return createCollect({ ...deps, ...options.deps })(element, { ...sender, ...options.sender }, false);
}

async function accepted(payload: object, options: Options = {}) {
  const outcome = await outcomeOf(payload, options);
  if (outcome.kind !== 'accepted') throw new Error(JSON.stringify(outcome));
  return { ...outcome, event: outcome.placement.event };
}

const sessionOf = async (payload: object, options: Options = {}) => (await accepted(payload, options)).event.sessionId;

test('an event is enriched with page, referrer, campaign, client, place and time', async () => {
  const { event } = await accepted({
    url: 'https://shop.example/a?x=1&utm_source=ads#top',
    referrer: 'https://www.search.example/find?q=shoes',
    title: 'A',
    name: 'signup',
    tag: 'b',
    id: 'u1',
    screen: '1920x1080',
    language: 'en-US',
    data: { plan: 'pro' },
  });
  const { sessionId, ...rest } = event;
  expect(sessionId).toMatch(/^[0-9a-f-]{36}$/);
  expect(rest).toEqual({
    websiteId: website,
    createdAtMs: now,
    type: 'custom',
    hostname: 'shop.example',
    urlPath: '/a#top',
    urlQuery: 'x=1&utm_source=ads',
    referrerDomain: 'search.example',
    referrerPath: '/find',
    referrerQuery: 'q=shoes',
    pageTitle: 'A',
    eventName: 'signup',
    tag: 'b',
    distinctId: 'u1',
    browser: 'Chrome',
    os: 'Linux',
    device: 'desktop',
    screen: '1920x1080',
    language: 'en-US',
    country: 'DE',
    region: 'DE-BE',
    city: 'Berlin',
    utmSource: 'ads',
    utmMedium: '',
    utmCampaign: '',
    utmContent: '',
    utmTerm: '',
    gclid: '',
    fbclid: '',
    msclkid: '',
    ttclid: '',
    liFatId: '',
    twclid: '',
    data: '{"plan":"pro"}',
    lcp: null,
    inp: null,
    fcp: null,
    ttfb: null,
    cls: null,
  });
});

test('neither address nor raw User-Agent are in the event', async () => {
  const { placement } = await accepted({ url: '/a', ip: '203.0.113.9', userAgent: iphone });
  expect(JSON.stringify(placement)).not.toMatch(/203\.0\.113|AppleWebKit/);
});

test('hostname falls back to the host of the url, and wins when given', async () => {
  expect((await accepted({ url: 'https://From.Url:8080/a' })).event.hostname).toBe('from.url');
  expect((await accepted({ url: 'https://from.url/a', hostname: 'a.b:8080' })).event.hostname).toBe('a.b:8080');
});

test('a given time is the time of the event and its session month', async () => {
  const { event } = await accepted({ timestamp: Date.parse('2020-05-01T00:00:00Z') / 1_000 });
  expect(new Date(event.createdAtMs).toISOString()).toBe('2020-05-01T00:00:00.000Z');
  expect(event.sessionId).not.toBe(await sessionOf({}));
});

test('a fault is told with its field, and so is an unknown website', async () => {
  expect(await outcomeOf({ website: 'x' })).toMatchObject({
    kind: 'rejected',
    code: 'bad-request',
    message: 'payload.website: must be the UUID of a website',
    properties: { 'payload.website': { errors: ['must be the UUID of a website'] } },
  });
  expect(await outcomeOf({ website: '0198c6a2-0000-7a55-8f00-000000000000' })).toMatchObject({
    code: 'bad-request',
    message: expect.stringContaining('payload.website'),
  });
});

test('an event whose website cannot be looked up, or lives in another region, is not taken for a faulty one', async () => {
  for (const id of [awayWebsite, foreignWebsite])
    expect(await outcomeOf({ website: id })).toMatchObject({ kind: 'rejected', code: 'service-unavailable' });
});

test.each([
  ['no-user-agent', {}, { userAgent: '' }],
  ['no-user-agent', { userAgent: chrome }, { userAgent: '' }],
  ['crawler', {}, { userAgent: googlebot }],
  ['crawler', { userAgent: googlebot }, {}],
  ['blocked-address', {}, { address: '192.0.2.66' }],
  ['blocked-address', { ip: '::ffff:192.0.2.66' }, {}],
])('ignored: %s', async (reason, payload, from) => {
  expect(await outcomeOf(payload, { sender: from })).toEqual({ kind: 'ignored', reason });
});

test('the sender may stand for a visitor: address, User-Agent, browser, system and device', async () => {
  const { event } = await accepted({ userAgent: iphone, ip: '198.51.100.9' }, { sender: { userAgent: 'curl/8.5.0' } });
  expect([event.browser, event.os, event.device, event.country]).toEqual(['Safari', 'iOS', 'mobile', '']);
  const named = await accepted({ browser: 'Chrome', os: 'Linux', device: 'tablet', userAgent: iphone });
  expect([named.event.browser, named.event.os, named.event.device]).toEqual(['Chrome', 'Linux', 'tablet']);
  expect((await accepted({ device: 'tv' })).event.device).toBe('desktop');
});

test('a browser and a system of the sender have the name of their product, however they are spelled', async () => {
  const clients = await Promise.all(
    ['Chrome', 'CHROME', 'mobile chrome'].map((browser) => accepted({ browser, os: 'mac os', userAgent: iphone })),
  );
  expect(clients.map(({ event }) => [event.browser, event.os])).toEqual(clients.map(() => ['Chrome', 'Mac OS']));
  const own = await accepted({ browser: 'My App', os: 'My OS' });
  expect([own.event.browser, own.event.os]).toEqual(['My App', 'My OS']);
});

test('of a forwarded list in ip the first address is the visitor, and a list that begins with none is ignored', async () => {
  expect(await sessionOf({ ip: '203.0.113.5, 10.0.0.1' })).toBe(await sessionOf({ ip: '203.0.113.5' }));
  expect(await sessionOf({ ip: '203.0.113.6, 10.0.0.1' })).not.toBe(await sessionOf({ ip: '203.0.113.5' }));
  expect(await sessionOf({ ip: 'unknown, 203.0.113.5' })).toBe(await sessionOf({}));
});

test('garbage in ip and a blank userAgent are ignored', async () => {
  const session = await sessionOf({});
  for (const ip of ['unknown', '999.1.1.1', '', 5]) expect(await sessionOf({ ip })).toBe(session);
  expect(await sessionOf({ userAgent: '   ' })).toBe(session);
});

test('spellings of one address are one visitor', async () => {
  expect(await sessionOf({ ip: '2001:DB8:0:0::1' })).toBe(await sessionOf({ ip: '2001:db8::1' }));
  expect(await sessionOf({ ip: '::ffff:203.0.113.7' })).toBe(await sessionOf({}));
  expect(await sessionOf({ ip: '203.0.113.8' })).not.toBe(await sessionOf({}));
});

test('overrides can be turned off', async () => {
  const payload = { ip: '198.51.100.9', userAgent: iphone, browser: 'X', os: 'Y', device: 'mobile' };
  const { event } = await accepted(payload, { deps: { allowOverrides: false } });
  expect([event.browser, event.os, event.device, event.country]).toEqual(['Chrome', 'Linux', 'desktop', 'DE']);
  expect(event.sessionId).toBe(await sessionOf({}));
});

test('the place that a content network tells wins over the file, but not for another address', async () => {
  const place = { country: 'BR', region: 'BR-SP', city: 'São Paulo' };
  expect((await accepted({}, { sender: { place } })).event.country).toBe('BR');
  expect((await accepted({ ip: '198.51.100.9' }, { sender: { place } })).event.country).toBe('');
});

const token: CacheToken = {
  websiteId: website,
  sessionId: '47b88b3f-cb65-5ff2-9b09-9c1d3e8f8c2a',
  visitId: '0198c6a2-4000-7abc-9def-001122334455',
  lastAtMs: now - 60_000,
  distinctId: '',
  issuedAtSeconds: now / 1_000 - 60,
};
const { visitId, lastAtMs } = token;

test('without an id the session is that of the token, so a change of address does not split a visitor', async () => {
  const { event, placement } = await accepted({}, { sender: { token, address: '198.51.100.1' } });
  expect([event.sessionId, event.distinctId]).toEqual([token.sessionId, '']);
  expect([placement.hint, placement.link]).toEqual([{ visitId, lastAtMs }, undefined]);
});

test('an id makes its own session, always; a token without id lends it the visit', async () => {
  const { event, placement } = await accepted({ id: 'u1' }, { sender: { token } });
  expect([event.sessionId, event.distinctId]).toEqual([await sessionOf({ id: 'u1' }), 'u1']);
  expect([placement.hint, placement.link]).toEqual([undefined, { sessionId: token.sessionId, visitId, lastAtMs }]);
});

test('the token of an id goes on with that id, and lends nothing to another', async () => {
  const own = { ...token, sessionId: await sessionOf({ id: 'u1' }), distinctId: 'u1' };
  for (const payload of [{}, { id: 'u1' }]) {
    const { event, placement } = await accepted(payload, { sender: { token: own } });
    expect([event.sessionId, event.distinctId]).toEqual([own.sessionId, 'u1']);
    expect(placement.hint).toEqual({ visitId, lastAtMs });
  }
  const other = await accepted({ id: 'u2' }, { sender: { token: own } });
  expect([other.event.distinctId, other.placement.hint, other.placement.link]).toEqual(['u2', undefined, undefined]);
});

test('a token of another website counts as absent', async () => {
  const { event, placement } = await accepted({ website: otherWebsite }, { sender: { token } });
  const { event: plain } = await accepted({ website: otherWebsite });
  expect(event.sessionId).toBe(plain.sessionId);
  expect([placement.hint, placement.link]).toEqual([undefined, undefined]);
});

test('identify and performance are collected in their own kind', async () => {
  const identified = await accepted({ id: 'u1', data: { plan: 'pro' } }, { type: 'identify' });
  expect([identified.event.type, identified.event.data]).toEqual(['identify', '{"plan":"pro"}']);
  const measured = await accepted({ url: '/a', lcp: 1200.5, cls: 0.02 }, { type: 'performance' });
  expect(measured.event).toMatchObject({ type: 'performance', urlPath: '/a', lcp: 1200.5, inp: null, cls: 0.02 });
});
