import { testActor } from '@meridian/registry/registry-fixtures';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

type Site = Awaited<ReturnType<typeof api.siteWith>>;

const june = `range:${Date.parse('2026-06-01T00:00:00Z')}:${Date.parse('2026-06-30T23:59:59.999Z')}`;

const store = async (site: Site, body: object): Promise<string> =>
  (await api.ok('POST', `/websites/${site.id}/segments`, { token: api.token, body: { name: 'x', ...body } })).id;
const segment = (site: Site, parameters: object) => store(site, { type: 'segment', parameters });
const cohort = (site: Site, action: object, rest: object = {}) =>
  store(site, { type: 'cohort', parameters: { action, dateRange: june, ...rest } });

const paths = async (site: Site, query: Parameters<Site['ask']>[1]) =>
  (await site.ask('/events', query)).data.map((row: { urlPath: string }) => row.urlPath).sort();

/** Two visitors; the one who buys was anonymous before, in the same visit. */
const shop = () =>
  api.siteWith([
    { t: '10:00', session: 'before login', visit: 'v', urlPath: '/a', browser: 'Chrome' },
    { t: '10:01', session: 'buyer', visit: 'v', urlPath: '/buy', distinctId: 'buyer', browser: 'Chrome' },
    {
      t: '10:02',
      session: 'buyer',
      visit: 'v',
      eventType: 2,
      eventName: 'order',
      urlPath: '/buy',
      distinctId: 'buyer',
    },
    { t: '2026-06-20T10:00:00Z', session: 'buyer', visit: 'later', urlPath: '/later', distinctId: 'buyer' },
    { t: '10:00', session: 'other', urlPath: '/a', browser: 'Firefox' },
    { t: '10:05', session: 'other', urlPath: '/b', browser: 'Firefox' },
  ]);

test('a segment counts on every route as its filters would in the query string, joined as it says', async () => {
  const site = await shop();
  const filters = [
    { name: 'url', operator: 'eq', value: '/a,/b' },
    { name: 'browser', operator: 'neq', value: 'chrome' },
  ];
  const all = await segment(site, { filters });
  const any = await segment(site, { filters, match: 'any' });
  expect(await paths(site, { segment: all })).toEqual(['/a', '/b']);
  expect(await paths(site, { segment: any })).toEqual(['/a', '/a', '/b', '/buy', '/later']);
  for (const route of ['/stats', '/pageviews', '/events', '/metrics', '/metrics/expanded']) {
    const query = { unit: 'month', type: 'path', compare: 'prev' };
    const asked = await site.ask(route, { ...query, path: '/a,/b', browser: 'neq.chrome' });
    expect(await site.ask(route, { ...query, segment: all }), route).toEqual(asked);
  }
});

test('a segment without filters is everything', async () => {
  const site = await shop();
  expect(await paths(site, { segment: await segment(site, {}) })).toHaveLength(6);
});

test('what no question can be answered with is not stored, and told by its name where an earlier version did', async () => {
  const site = await shop();
  const filters = [
    { name: 'title', operator: 're', value: 'a+' },
    { name: 'path', operator: 'nre', value: '(' },
  ];
  const action = { type: 'path', value: '/a' };
  const bodies = [
    [{ type: 'segment', parameters: { filters } }, 'parameters.filters.1.value'],
    [{ type: 'cohort', parameters: { filters, action, dateRange: june } }, 'parameters.filters.1.value'],
    [{ type: 'cohort', parameters: { action, dateRange: 'range:5:1' } }, 'parameters.dateRange'],
  ] as const;
  for (const [body, field] of bodies) {
    const call = { token: api.token, body: { name: 'x', ...body } };
    const refused = await api.call('POST', `/websites/${site.id}/segments`, call);
    expect([refused.status, Object.keys(refused.json.error.properties)]).toEqual([400, [field]]);
    const earlier = await api.deps.registry.createSegment(site.id, { name: 'x', ...body }, testActor);
    const { status, json } = await site.get('/stats', { [body.type]: earlier?.id ?? '' });
    expect([status, Object.keys(json.error.properties)]).toEqual([400, [body.type]]);
  }
});

test('segment, cohort and filters must all hold, also with match=any', async () => {
  const site = await shop();
  const a = await segment(site, { filters: [{ name: 'path', value: '/a' }] });
  const buyers = await cohort(site, { type: 'path', value: '/buy' });
  expect(await paths(site, { segment: a, browser: 'firefox', path: '/later', match: 'any' })).toEqual(['/a']);
  expect(await paths(site, { segment: a, cohort: buyers })).toEqual(['/a']);
  expect(await paths(site, { cohort: buyers, path: '/later,/b' })).toEqual(['/later']);
});

test('a cohort is the visitors, anonymous part of the visit and later visits included, on every route', async () => {
  const site = await shop();
  for (const action of [
    { type: 'path', value: '/buy' },
    { type: 'event', value: 'order' },
  ]) {
    const id = await cohort(site, action);
    expect(await paths(site, { cohort: id })).toEqual(['/a', '/buy', '/buy', '/later']);
    expect(await site.ask('/stats', { cohort: id })).toMatchObject({
      pageviews: 3,
      visitors: 1,
      visits: 2,
      bounces: 1,
    });
    expect((await site.ask('/metrics', { cohort: id, type: 'path' }))[0]).toEqual({ x: '/a', y: 1 });
    const { pageviews, sessions } = await site.ask('/pageviews', { cohort: id, unit: 'month' });
    expect([pageviews[0].y, sessions[0].y]).toEqual([3, 2]);
  }
});

test('who belongs to a cohort is decided in its own range and by its own filters, by pageviews for a path', async () => {
  const site = await shop();
  const day = (date: string) => `range:${Date.parse(`${date}T00:00:00Z`)}:${Date.parse(`${date}T23:59:59.999Z`)}`;
  const members = async (action: object, rest: object) =>
    (await site.ask('/stats', { cohort: await cohort(site, action, rest) })).visitors;
  const viewed = (value: string) => ({ type: 'path', value });
  expect(await members(viewed('/later'), { dateRange: day('2026-06-20') })).toBe(1);
  expect(await members(viewed('/later'), { dateRange: day('2026-06-10') })).toBe(0);
  expect(await members(viewed('/a'), {})).toBe(2);
  expect(await members(viewed('/a'), { filters: [{ name: 'browser', value: 'firefox' }] })).toBe(1);
  expect(await members({ type: 'event', value: '/buy' }, {})).toBe(0);
  expect(await members(viewed('/buy'), { filters: [{ name: 'event', value: 'order' }] })).toBe(0);
});

test('a relative range ends now, in the zone of the question', async () => {
  const hour = 3_600_000;
  const now = api.deps.now().getTime();
  const site = await api.siteWith([
    { t: now - 1_000, session: 'new', urlPath: '/buy' },
    { t: now - 30 * 24 * hour, session: 'old', visit: 'old', urlPath: '/buy' },
  ]);
  const query = { startAt: now - 60 * 24 * hour, endAt: now + hour, timezone: 'Asia/Kathmandu' };
  const buy = { type: 'path', value: '/buy' };
  const visitors = async (dateRange: string) =>
    (await site.ask('/stats', { ...query, cohort: await cohort(site, buy, { dateRange }) })).visitors;
  expect([await visitors('2hour'), await visitors('60day'), await visitors('all')]).toEqual([1, 2, 2]);
});

test('a change and a deletion count at once; a record of the other kind or of another website is 400 that names it', async () => {
  const [site, foreign] = [await shop(), await shop()];
  const id = await segment(site, { filters: [{ name: 'path', value: '/a' }] });
  const path = `/websites/${site.id}/segments/${id}`;
  const body = { type: 'segment', name: 'x', parameters: { filters: [{ name: 'path', value: '/b' }] } };
  await api.ok('POST', path, { token: api.token, body });
  expect(await paths(site, { segment: id })).toEqual(['/b']);
  const refused = [
    ['cohort', await site.get('/stats', { cohort: id })],
    ['segment', await foreign.get('/stats', { segment: id })],
  ] as const;
  for (const [name, { status, json }] of refused)
    expect([status, Object.keys(json.error.properties)]).toEqual([400, [name]]);
  await api.ok('DELETE', path, { token: api.token });
  expect((await site.get('/stats', { segment: id })).status).toBe(400);
});
