import { filterNames } from '@meridian/contract/statistics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

const zeros = { pageviews: 0, visitors: 0, visits: 0, bounces: 0, totaltime: 0 };

test('a website without events has zeros, a point for every day, and empty lists; compared as well', async () => {
  const site = await api.siteWith();
  const days = { startDate: '2026-06-09', endDate: '2026-06-11' };
  expect(await site.ask('/stats', { ...days, compare: 'prev' })).toEqual({ ...zeros, comparison: zeros });
  const points = ['2026-06-09', '2026-06-10', '2026-06-11'].map((x) => ({ x, y: 0 }));
  expect(await site.ask('/pageviews', { ...days, compare: 'yoy' })).toMatchObject({
    ...{ pageviews: points, sessions: points },
    compare: { pageviews: points.map(({ x, y }) => ({ x: x.replace('2026', '2025'), y })) },
  });
  expect(await site.ask('/events', days)).toEqual({
    ...{ count: 0, data: [], page: 1, pageSize: 20, isCapped: false, nextCursor: null },
  });
  for (const type of ['path', 'entry', 'channel', 'city', 'event']) {
    expect(await site.ask('/metrics', { ...days, type })).toEqual([]);
    expect(await site.ask('/metrics/expanded', { ...days, type })).toEqual([]);
  }
  expect(await site.ask('/active')).toEqual({ visitors: 0 });
});

test('numbers are numbers on every route, also those of 64 bits, never text', async () => {
  const now = api.deps.now().getTime();
  const site = await api.siteWith(
    Array.from({ length: 30 }, (_, i) => ({ t: now - i * 1_000, session: `s${i % 3}`, urlPath: '/a', city: 'X' })),
  );
  const range = { startAt: now - 86_400_000, endAt: now + 1_000, compare: 'prev', unit: 'hour' };
  for (const route of ['/stats', '/pageviews', '/events', '/active', '/metrics', '/metrics/expanded'])
    for (const type of ['path', 'city', 'entry', 'channel']) {
      const { status, text } = await site.get(route, { ...range, type });
      expect(status, route).toBe(200);
      expect(text.replace('"nextCursor":null', ''), route).not.toMatch(/:\s*("-?\d+(\.\d+)?"|null|NaN)/);
      expect(text, route).toMatch(/:[1-9]\d*[,}]/);
    }
});

test('custom events are no pageviews: not in the numbers, not in the series, and the log tells them apart', async () => {
  const custom = (t: string, eventName: string) => ({ t, eventType: 2 as const, eventName, urlPath: '/a' });
  const site = await api.siteWith([
    { t: '10:00', urlPath: '/a' },
    custom('10:01', 'signup'),
    custom('10:02', 'signup'),
    custom('10:03', 'buy'),
    { t: '10:04', urlPath: '/b' },
  ]);
  expect(await site.ask('/stats')).toEqual({ pageviews: 2, visitors: 1, visits: 1, bounces: 0, totaltime: 240 });
  const names = async (eventType: number) => {
    const { count, data } = await site.ask('/events', { eventType });
    return [count, data.map((row: { eventName: string }) => row.eventName)];
  };
  expect(await names(2)).toEqual([3, ['buy', 'signup', 'signup']]);
  expect(await names(1)).toEqual([2, ['', '']]);
  for (const unit of ['minute', 'hour', 'day', 'month', 'year']) {
    const range = { startAt: Date.parse('2026-06-10T09:00Z'), endAt: Date.parse('2026-06-10T11:00Z'), unit };
    const { pageviews } = await site.ask('/pageviews', range);
    const sum = pageviews.reduce((total: number, { y }: { y: number }) => total + y, 0);
    expect(sum, unit).toBe(2);
  }
  expect(await site.ask('/metrics/expanded', { type: 'path' })).toMatchObject([
    { name: '/a', pageviews: 1 },
    { name: '/b', pageviews: 1 },
  ]);
  expect(await site.ask('/metrics', { type: 'event' })).toEqual([
    { x: 'signup', y: 2 },
    { x: 'buy', y: 1 },
  ]);
});

test('a custom event does not undo a bounce, and the same visits bounce in two hours, two days and two years', async () => {
  const site = await api.siteWith([
    { t: '10:00', session: 'scrolls', urlPath: '/a' },
    { t: '10:01', session: 'scrolls', eventType: 2, eventName: 'scroll' },
    { t: '10:00', session: 'leaves' },
    { t: '10:58', session: 'stays' },
    { t: '11:03', session: 'stays' },
    { t: '10:30', session: 'silent', eventType: 2, eventName: 'ping' },
    { t: '11:59:59.999', session: 'measured' },
    { t: '11:59:59.999', session: 'measured', eventType: 5, lcp: 900 },
  ]);
  const ranges = [
    ['2026-06-10T10:00:00Z', '2026-06-10T11:59:59.999Z'],
    ['2026-06-09T00:00:00Z', '2026-06-10T23:59:59.999Z'],
    ['2025-01-01T00:00:00Z', '2026-12-31T23:59:59.999Z'],
    ['2026-06-10T09:47:13.001Z', '2026-06-12T03:04:05.006Z'],
  ].map(([from = '', to = '']) => ({ startAt: Date.parse(from), endAt: Date.parse(to) }));
  const all = { pageviews: 5, visitors: 5, visits: 5, bounces: 3, totaltime: 360 };
  for (const range of ranges) {
    expect(await site.ask('/stats', range)).toEqual(all);
    const rest = { pageviews: 2, visitors: 2, visits: 2, bounces: 0, totaltime: 300 };
    expect(await site.ask('/stats', { ...range, excludeBounce: 1 })).toEqual(rest);
    expect(await site.ask('/metrics/expanded', { ...range, type: 'hostname' })).toEqual([
      { name: 'shop.example', ...all },
    ]);
  }
});

test('a fragment of SQL in any filter is a value that no event has, and whose denial every event fits', async () => {
  const site = await api.siteWith([{ t: '10:00' }, { t: '10:01', eventType: 2, eventName: 'x' }]);
  const fragments = [
    ...["' OR '1'='1", "\\' OR 1=1 --", "') UNION ALL SELECT name,1 FROM system.tables --", '{x:String}', '\\', '%'],
    ...[
      '1; SYSTEM SHUTDOWN',
      '/*',
      '`',
      '\\x27',
      '\u2019',
      '{p0:UUID}',
      '$$',
      '\ud83d\ude42',
      '%27',
      '??',
      '\\0',
      '\r\n',
    ],
  ];
  const visits = async (name: string, value: string) => (await site.ask('/stats', { [name]: value })).visits;
  for (const name of filterNames)
    for (const value of fragments)
      expect(
        [await visits(name, `eq.${value}`), await visits(name, `neq.${value}`), await visits(name, `c.${value}`)],
        `${name}=${value}`,
      ).toEqual([0, 1, 0]);
}, 300_000);
