import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

type Site = Awaited<ReturnType<typeof api.siteWith>>;

/** Those that take a range. */
const routes = ['/stats', '/pageviews', '/events', '/metrics?type=path', '/metrics/expanded?type=path'];

/** Asks with this very query string, percent-encoded or not. */
const getRaw = (site: Site, route: string, query: string) =>
  api.call('GET', `/websites/${site.id}${route}${route.includes('?') ? '&' : '?'}${query}`, { token: api.token });

const ms = (iso: string) => Date.parse(iso);
const instant = ms('2026-06-10T10:00:00.000Z');

test('without a range the last 24 hours are asked for, with one bound up to now or the 24 hours before', async () => {
  const now = api.deps.now().getTime();
  const site = await api.siteWith([
    { t: now - 25 * 3_600_000, visit: 'earlier' },
    { t: now - 23 * 3_600_000, visit: 'yesterday' },
    { t: now - 1_000, visit: 'now' },
  ]);
  const ask = async (query: string) => {
    const { json } = await getRaw(site, '/pageviews', query);
    const pageviews = json.pageviews.reduce((total: number, { y }: { y: number }) => total + y, 0);
    return [pageviews, Date.parse(json.endDate) - Date.parse(json.startDate)];
  };
  expect(await ask('')).toEqual([2, 24 * 3_600_000]);
  expect(await ask('startAt=&endAt=&startDate=&endDate=&timezone=&unit=&compare=')).toEqual([2, 24 * 3_600_000]);
  expect((await ask(`startAt=${now - 26 * 3_600_000}`))[0]).toBe(3);
  expect(await ask(`endAt=${now - 10_000}`)).toEqual([1, 24 * 3_600_000]);
  expect((await getRaw(site, '/stats', '')).json.visits).toBe(2);
  expect((await getRaw(site, '/events', '')).json.count).toBe(2);
});

test('a range of one millisecond holds the events of that millisecond, on every route', async () => {
  const site = await api.siteWith([{ t: instant - 1 }, { t: instant }, { t: instant + 1 }]);
  const one = { startAt: instant, endAt: instant };
  expect((await site.ask('/stats', one)).pageviews).toBe(1);
  expect((await site.ask('/pageviews', { ...one, unit: 'hour' })).pageviews).toEqual([
    { x: '2026-06-10T10:00:00Z', y: 1 },
  ]);
  expect((await site.ask('/events', one)).count).toBe(1);
  expect(await site.ask('/metrics', { ...one, type: 'path' })).toEqual([{ x: '/', y: 1 }]);
  expect((await site.ask('/metrics/expanded', { ...one, type: 'path' }))[0].pageviews).toBe(1);
});

test('what is no bound is 400 that names it, a range that is turned round is 400, on every route', async () => {
  const site = await api.siteWith([{ t: instant }]);
  const bad = ['abc', 'NaN', '1e3', '-', '9e99', '0x10', '%201%20', '1;2', '{}', '[]', '99999999999999999999'];
  const badDates = ['2026-02-30', '2026-13-01', 'June%201', '20260601', '2026-W23', 'now', '2026-06-01T10:00%2B25:99'];
  for (const route of routes) {
    for (const [names, values] of [
      [['startAt', 'endAt'], bad],
      [['startDate', 'endDate'], badDates],
    ] as const)
      for (const name of names)
        for (const value of values) {
          const { status, json } = await getRaw(site, route, `${name}=${value}`);
          expect([status, Object.keys(json.error.properties ?? {})], `${route} ${name}=${value}`).toEqual([
            400,
            [name],
          ]);
        }
    const turned = await getRaw(site, route, `startAt=${instant + 1}&endAt=${instant}`);
    expect([turned.status, turned.json.error.code], route).toEqual([400, 'bad-request']);
  }
}, 120_000);

test('bounds however far away are taken, on every route, with the numbers of the years between', async () => {
  const site = await api.siteWith([
    { t: instant, visit: 'a' },
    { t: instant + 1, visit: 'a' },
    { t: instant, visit: 'b' },
  ]);
  for (const route of routes) {
    const near = await getRaw(site, route, `startDate=2026-06-10&endDate=2026-06-10&unit=year`);
    const total = route === '/pageviews' ? near.json.pageviews[0].y : near.json;
    for (const range of [
      'startDate=1970-01-01&endDate=2026-12-31&timezone=Europe/Berlin',
      'startDate=1900-01-01&endDate=9999-12-31',
      'startDate=0001-01-01&endDate=9999-12-31&timezone=America/New_York',
      'startAt=-1&endAt=999999999999999&timezone=Asia/Kathmandu',
      'startAt=-62135596800000&endDate=2300-01-01',
    ]) {
      const { status, json } = await getRaw(site, route, `${range}&unit=year&compare=yoy`);
      expect(status, `${route} ${range}`).toBe(200);
      if (route === '/pageviews')
        expect(json.pageviews.filter(({ y }: { y: number }) => y > 0)).toEqual([{ x: '2026-01-01', y: total }]);
      else if (route === '/stats') expect(json, range).toMatchObject(total);
      else expect(json, `${route} ${range}`).toEqual(total);
    }
  }
}, 120_000);

test('a series has the points of the years 1900 to 2299 that its range touches', async () => {
  const site = await api.siteWith([{ t: instant }]);
  const series = async (query: Parameters<Site['ask']>[1]) => {
    const { startDate, endDate, pageviews, compare } = await site.ask('/pageviews', query);
    return [startDate, endDate, pageviews.length, pageviews[0].x, pageviews.at(-1).x, compare?.startDate];
  };
  const all = { startDate: '0001-01-01', endDate: '9999-12-31' };
  const [from, to] = ['1900-01-01T00:00:00.000Z', '2299-12-31T23:59:59.999Z'];
  expect(await series({ ...all, unit: 'year' })).toEqual([from, to, 400, '1900-01-01', '2299-01-01', undefined]);
  expect(await series({ ...all, unit: 'month', compare: 'prev' })).toEqual([
    ...[from, to, 4_800, '1900-01-01', '2299-12-01'],
    '1500-01-01T00:00:00.000Z',
  ]);
  expect((await site.get('/pageviews', { ...all, unit: 'day' })).json.error.message).toMatch(/month$/);
  const kathmandu = { startDate: '1970-01-01', endDate: '2026-06-30', unit: 'month', timezone: 'Asia/Kathmandu' };
  expect(await series(kathmandu)).toEqual([
    ...['1969-12-31T18:30:00.000Z', '2026-06-30T18:14:59.999Z', 678, '1970-01-01', '2026-06-01'],
    undefined,
  ]);
});

test('seconds in place of milliseconds are a range in 1970 and no fault', async () => {
  const site = await api.siteWith([{ t: instant }]);
  const query = { startAt: ms('2026-06-01T00:00:00Z') / 1_000, endAt: ms('2026-07-01T00:00:00Z') / 1_000 };
  expect(await site.ask('/stats', query)).toMatchObject({ pageviews: 0 });
  expect((await site.ask('/pageviews', query)).startDate).toMatch(/^1970-/);
});

test('startAt and endAt win over dates, bound by bound; dates are read in the zone unless they have an offset', async () => {
  const site = await api.siteWith();
  const resolved = async (query: Parameters<Site['ask']>[1]) => {
    const { startDate, endDate } = await site.ask('/pageviews', query);
    return [startDate, endDate];
  };
  const dates = { startDate: '2026-06-01', endDate: '2026-06-02', timezone: 'Asia/Kathmandu' };
  expect(await resolved(dates)).toEqual(['2026-05-31T18:15:00.000Z', '2026-06-02T18:14:59.999Z']);
  expect(await resolved({ ...dates, startAt: ms('2026-05-30T00:00:00.001Z') })).toEqual([
    '2026-05-30T00:00:00.001Z',
    '2026-06-02T18:14:59.999Z',
  ]);
  expect(await resolved({ ...dates, endAt: ms('2026-06-10T00:00:00.002Z') })).toEqual([
    '2026-05-31T18:15:00.000Z',
    '2026-06-10T00:00:00.002Z',
  ]);
  expect(await resolved({ ...dates, startDate: '2026-06-01T00:00', endDate: '2026-06-01T00:00:00+05:30' })).toEqual([
    '2026-05-31T18:15:00.000Z',
    '2026-05-31T18:30:00.000Z',
  ]);
  // As Postgres prints it.
  expect(await resolved({ ...dates, startDate: '2026-06-01 10:00:00.25+02', endDate: '2026-06-01T24:00:00Z' })).toEqual(
    ['2026-06-01T08:00:00.250Z', '2026-06-02T00:00:00.000Z'],
  );
  expect(await resolved({ ...dates, startDate: '2026-05-31T20:00:00.5-03:00', endDate: '2026-06-01T00:00Z' })).toEqual([
    '2026-05-31T23:00:00.500Z',
    '2026-06-01T00:00:00.000Z',
  ]);
});

/** What browsers of all ages send, and a name that means the same. */
const aliases = [
  ['Asia/Saigon', 'Asia/Ho_Chi_Minh'],
  ['Asia/Calcutta', 'Asia/Kolkata'],
  ['Asia/Katmandu', 'Asia/Kathmandu'],
  ['US/Pacific', 'America/Los_Angeles'],
  ['Europe/Kiev', 'Europe/Kyiv'],
  ['America/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
  ['europe/berlin', 'Europe/Berlin'],
  ['AMERICA/ST_JOHNS', 'America/St_Johns'],
  ['utc', 'UTC'],
  ['GMT', 'UTC'],
  ['Etc/UTC', 'UTC'],
  ['Etc/GMT-14', 'Pacific/Kiritimati'],
] as const;

test('an old name of a zone, in any letter case, has the answers of its new one', async () => {
  const times = Array.from({ length: 40 }, (_, i) => ({ t: instant + i * 2_400_000, visit: `v${i}` }));
  const site = await api.siteWith(times);
  const range = { startDate: '2026-06-10', endDate: '2026-06-11', compare: 'yoy' };
  for (const [old, name] of aliases)
    for (const [route, unit] of [
      ['/pageviews', 'hour'],
      ['/pageviews', 'day'],
      ['/stats', 'day'],
    ] as const)
      expect(await site.ask(route, { ...range, unit, timezone: old }), old).toEqual(
        await site.ask(route, { ...range, unit, timezone: name }),
      );
});

test('what is no zone is 400 that names it, on every route; an empty one is UTC, of several the last one counts', async () => {
  const site = await api.siteWith([{ t: instant }]);
  const bad = [
    ...[
      'Mars/Base',
      'Etc/GMT+14',
      'UTC+2',
      '+05:30',
      "'; DROP TABLE x; --",
      '../../etc/passwd',
      'localtime',
      'Factory',
    ],
    ...['posix/Europe/Berlin', 'right/UTC', '__proto__', 'constructor', 'x'.repeat(10_000), 'Europe/Berlin ', '🙂'],
  ];
  for (const route of routes)
    for (const timezone of bad) {
      const { status, json, text } = await getRaw(site, route, `timezone=${encodeURIComponent(timezone)}`);
      const told = `${route} ${timezone.slice(0, 30)}`;
      expect([status, Object.keys(json.error.properties ?? {})], told).toEqual([400, ['timezone']]);
      expect(text, told).not.toMatch(/clickhouse|postgres|DB::|\/src\/|etc\/passwd/i);
    }
  const day = 'startDate=2026-06-10&endDate=2026-06-10';
  const start = async (query: string) => (await getRaw(site, '/pageviews', `${day}&${query}`)).json.startDate;
  expect(await start('timezone=')).toBe('2026-06-10T00:00:00.000Z');
  expect(await start('timezone=Asia/Tokyo&timezone=Europe/Berlin')).toBe('2026-06-09T22:00:00.000Z');
}, 120_000);

test('more points than a series may have are 400 with the finest unit that fits, compared or not; the unit is never changed', async () => {
  const site = await api.siteWith();
  const refused = async (query: Parameters<Site['ask']>[1]) => {
    const { status, json } = await site.get('/pageviews', query);
    return [status, json.error?.message.match(/\w+$/)?.[0], Object.keys(json.error?.properties ?? {})];
  };
  const years = (from: number, to: number) => ({ startDate: `${from}-01-01`, endDate: `${to}-01-01` });
  expect(await refused({ ...years(2021, 2026), unit: 'minute' })).toEqual([400, 'day', ['unit']]);
  expect(await refused({ ...years(2025, 2026), unit: 'minute' })).toEqual([400, 'hour', ['unit']]);
  expect(await refused({ ...years(2021, 2026), unit: 'hour', compare: 'yoy' })).toEqual([400, 'day', ['unit']]);
  expect(await refused({ ...years(1970, 2199), unit: 'day' })).toEqual([400, 'month', ['unit']]);
  const { pageviews } = await site.ask('/pageviews', { ...years(1970, 2199), unit: 'year' });
  expect([pageviews.length, pageviews[0].x, pageviews.at(-1).x]).toEqual([230, '1970-01-01', '2199-01-01']);
});

test('the year before 29 February is the 28th, the period before a day of 25 hours is 25 hours long', async () => {
  const site = await api.siteWith();
  const compared = async (query: Parameters<Site['ask']>[1]) => {
    const { compare } = await site.ask('/pageviews', query);
    return [compare.startDate, compare.endDate, ...compare.pageviews.map(({ x }: { x: string }) => x)];
  };
  const leap = { startDate: '2024-02-29', endDate: '2024-02-29', timezone: 'Europe/London' };
  expect(await compared({ ...leap, compare: 'yoy' })).toEqual([
    '2023-02-28T00:00:00.000Z',
    '2023-02-28T23:59:59.999Z',
    '2023-02-28',
  ]);
  const long = { startDate: '2026-10-25', endDate: '2026-10-25', timezone: 'Europe/Berlin' };
  expect(await compared({ ...long, compare: 'prev' })).toEqual([
    '2026-10-23T21:00:00.000Z',
    '2026-10-24T21:59:59.999Z',
    '2026-10-23',
    '2026-10-24',
  ]);
});
