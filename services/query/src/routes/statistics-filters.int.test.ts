import { filterNames } from '@meridian/contract/statistics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

type Query = Record<string, string | number | string[]>;
type Site = Awaited<ReturnType<typeof api.siteWith>>;

/** What each route says about how much was selected. */
const counts = {
  '/stats': (body: { visits: number }) => body.visits,
  '/pageviews': (body: { sessions: { y: number }[] }) => body.sessions.reduce((total, { y }) => total + y, 0),
  '/events': (body: { count: number }) => body.count,
  '/metrics': (body: { y: number }[]) => body.reduce((total, { y }) => total + y, 0),
  '/metrics/expanded': (body: { visits: number }[]) => body.reduce((total, { visits }) => total + visits, 0),
};
const countOn = async (site: Site, query: Query): Promise<Record<string, number>> => {
  const found = Object.entries(counts).map(async ([route, count]) => {
    const body = await site.ask(route, { unit: 'month', type: 'hostname', ...query });
    return [route, (count as (body: unknown) => number)(body)] as const;
  });
  return Object.fromEntries(await Promise.all(found));
};
const everywhere = (count: number) => Object.fromEntries(Object.keys(counts).map((route) => [route, count]));

/** One event of a visitor who shares no value with the other one. */
const visitor = (name: string) => ({
  t: '10:00',
  session: name,
  urlPath: `/${name}`,
  referrerDomain: `${name}.example`,
  pageTitle: name,
  urlQuery: `q=${name}`,
  os: name,
  browser: name,
  device: name,
  country: name,
  region: name,
  city: name,
  language: name,
  eventType: 2 as const,
  eventName: name,
  utmSource: name,
  utmMedium: name,
  utmCampaign: name,
  utmContent: name,
  utmTerm: name,
  tag: name,
  hostname: name,
  distinctId: name,
});
const spelled: Partial<Record<string, (name: string) => string>> = {
  path: (name) => `/${name}`,
  query: (name) => `q=${name}`,
  referrer: (name) => `${name}.example`,
};
const spelling = (filter: string, name: string) => spelled[filter]?.(name) ?? name;

test('every filter changes the answer of every route, and an absent value empties it', async () => {
  const site = await api.siteWith([visitor('mine'), visitor('other')]);
  expect(await countOn(site, {})).toEqual(everywhere(2));
  for (const name of filterNames) {
    expect(await countOn(site, { [name]: spelling(name, 'mine') }), name).toEqual(everywhere(1));
    expect(await countOn(site, { [name]: spelling(name, 'absent') }), name).toEqual(everywhere(0));
  }
}, 120_000);

test('filters of two visitors select none, and with match=any both, on every route', async () => {
  const site = await api.siteWith([visitor('mine'), visitor('other')]);
  const two = { path: '/mine', country: 'other' };
  expect(await countOn(site, two)).toEqual(everywhere(0));
  expect(await countOn(site, { ...two, match: 'any' })).toEqual(everywhere(2));
  expect(await countOn(site, { match: 'any' })).toEqual(everywhere(2));
});

test('eventType splits the log, and any value of excludeBounce leaves out visits with one pageview, on every route', async () => {
  const site = await api.siteWith([
    { t: '10:00', session: 'one', hostname: 'a' },
    { t: '10:00', session: 'two', hostname: 'a' },
    { t: '10:01', session: 'two', hostname: 'a' },
    { t: '10:02', session: 'two', hostname: 'a', eventType: 2, eventName: 'x' },
  ]);
  const types = async (eventType: number) =>
    (await site.ask('/events', { eventType })).data.map((row: { eventType: number }) => row.eventType);
  expect([await types(1), await types(2)]).toEqual([[1, 1, 1], [2]]);
  for (const excludeBounce of ['1', '0', 'false'])
    expect(await countOn(site, { excludeBounce }), excludeBounce).toEqual({ ...everywhere(1), '/events': 3 });
});

test.each<[string, Query]>([
  ['an empty value', { path: '', browser: '', segment: '', cohort: '', eventType: '', excludeBounce: '', match: '' }],
  ['an unknown name', { colour: 'red', Path: '/x', '1': 'x' }],
  ['spellings of arrays and objects', { 'path[]': '/x', 'path[0]': '/x', 'path[$ne]': '/x', 'filter.path': '/x' }],
  ['names of a prototype', { '__proto__[path]': '/x', 'constructor[prototype][path]': '/x', __proto__x: 'x' }],
  ['a thousand parameters', Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`x${i}y`, '']))],
])('%s changes nothing, on any route', async (_kind, query) => {
  const site = await api.siteWith([visitor('mine'), visitor('other')]);
  expect(await countOn(site, query)).toEqual(everywhere(2));
});

test('a space is + or %20, a plus is %2B, and a long value is a value', async () => {
  const site = await api.siteWith([
    { t: '10:00', pageTitle: 'a b' },
    { t: '10:01', pageTitle: 'a+b' },
  ]);
  const found = async (title: string) => {
    const path = `/websites/${site.id}/events?startAt=0&title=${title}`;
    const { data } = await api.ok('GET', path, { token: api.token });
    return data.map((row: { pageTitle: string }) => row.pageTitle);
  };
  expect(await found('a+b')).toEqual(['a b']);
  expect(await found('a%20b')).toEqual(['a b']);
  expect(await found('a%2Bb')).toEqual(['a+b']);
  expect(await found('x'.repeat(10_000))).toEqual([]);
});

test('the same question has the same answer however often it is asked, summer time included', async () => {
  const site = await api.siteWith([{ t: '2026-07-01T13:09:00Z' }]);
  const query = { startDate: '2026-07-01', endDate: '2026-07-01', timezone: 'Europe/London', unit: 'hour' };
  for (const route of Object.keys(counts)) {
    const asked = Array.from({ length: 5 }, () => site.get(route, { ...query, type: 'path', compare: 'yoy' }));
    expect(new Set((await Promise.all(asked)).map(({ text }) => text)).size, route).toBe(1);
  }
  const { pageviews } = await site.ask('/pageviews', query);
  expect(pageviews.filter(({ y }: { y: number }) => y > 0)).toEqual([{ x: '2026-07-01T14:00:00+01:00', y: 1 }]);
});

test('traffic that is the same all the time compares as equal, in a range that is no whole number of anything', async () => {
  const from = Date.parse('2026-06-08T00:00:00Z');
  const every10Minutes = Array.from({ length: 3 * 144 }, (_, i) => ({ t: from + i * 600_000, visit: `v${i}` }));
  const site = await api.siteWith(every10Minutes);
  const startAt = from + 30 * 3_600_000;
  const query = { startAt, endAt: startAt + 24 * 3_600_000 + 10 * 60_000 - 1, compare: 'prev', unit: 'day' };
  const { pageviews, comparison } = await site.ask('/stats', query);
  expect([pageviews, comparison.pageviews]).toEqual([145, 145]);
  const { compare, startDate, endDate } = await site.ask('/pageviews', query);
  const length = (range: { startDate: string; endDate: string }) =>
    Date.parse(range.endDate) - Date.parse(range.startDate);
  expect(length(compare)).toBe(length({ startDate, endDate }));
  expect(Date.parse(compare.endDate)).toBe(startAt - 1);
});

test('a referrer is found by the address that was sent, in the query string and in a segment', async () => {
  const stored: Record<string, [domain: string, path: string]> = {
    'android-app://com.app/x': ['com.app', '/x'],
    'https://münchen.de/stadt': ['xn--mnchen-3ya.de', '/stadt'],
    'https://a.example/%E9/caf%C3%A9': ['a.example', '/%E9/café'],
    'https://a.example/a/../b': ['a.example', '/a/../b'],
  };
  const site = await api.siteWith(
    Object.entries(stored).map(([tag, [referrerDomain, referrerPath]]) => ({
      ...{ t: '10:00', session: tag, tag, referrerDomain, referrerPath },
    })),
  );
  const tags = async (query: Query) =>
    (await site.ask('/metrics', { type: 'tag', ...query })).map(({ x }: { x: string }) => x);
  for (const referrer of Object.keys(stored)) {
    expect(await tags({ referrer })).toEqual([referrer]);
    const parameters = { filters: [{ name: 'referrer', operator: 'neq', value: referrer }] };
    const body = { type: 'segment', name: 'others', parameters };
    const { id } = await api.ok('POST', `/websites/${site.id}/segments`, { token: api.token, body });
    expect((await tags({ segment: id })).sort()).toEqual(
      Object.keys(stored)
        .filter((one) => one !== referrer)
        .sort(),
    );
  }
  expect(await tags({ referrer: 'münchen.de' })).toEqual(['https://münchen.de/stadt']);
});
