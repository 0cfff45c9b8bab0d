import { StatsAnswer } from '@meridian/contract/statistics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

test('five numbers, no comparison unless asked for, and what it cost', async () => {
  const site = await api.siteWith([
    { t: '10:00', urlPath: '/a' },
    { t: '10:01', eventType: 2, eventName: 'buy' },
    { t: '10:04', urlPath: '/b' },
    { t: '12:00', session: 'other', visit: 'w' },
  ]);
  const answer = await site.get('/stats');
  expect(answer.json).toEqual({ pageviews: 3, visitors: 2, visits: 2, bounces: 1, totaltime: 240 });
  expect(StatsAnswer.parse(answer.json)).toEqual(answer.json);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('server-timing')).toMatch(/^db;dur=\d+\.\d;desc="rows \d+, bytes \d+"$/);
});

test('a website without events has zeros, and unknown parameters change nothing', async () => {
  const zeros = { pageviews: 0, visitors: 0, visits: 0, bounces: 0, totaltime: 0 };
  const site = await api.siteWith();
  expect(await site.ask('/stats', { nonsense: 1, '__proto__[x]': 1 })).toEqual(zeros);
});

test('compare counts the events of the other range, one on the border in one of them only', async () => {
  const site = await api.siteWith([
    { t: '2025-06-10T12:00:00Z', session: 'last year', visit: 'l' },
    { t: '09:59:59.999', session: 'before', visit: 'b' },
    { t: '10:00', session: 'now', visit: 'n' },
  ]);
  const hour = { startAt: Date.parse('2026-06-10T10:00:00Z'), endAt: Date.parse('2026-06-10T11:00:00Z') };
  const prev = await site.get('/stats', { ...hour, compare: 'prev' });
  expect([prev.json.pageviews, prev.json.comparison.pageviews]).toEqual([1, 1]);
  expect(prev.headers.get('server-timing')?.split(', db;')).toHaveLength(2);
  const day = { startDate: '2026-06-10', endDate: '2026-06-10' };
  expect((await site.ask('/stats', { ...day, compare: 'yoy' })).comparison.pageviews).toBe(1);
  const ever = { startAt: 0, endAt: Date.parse('2100-01-01T00:00:00Z'), compare: 'prev' };
  expect(await site.ask('/stats', ever)).toMatchObject({ pageviews: 3, comparison: { pageviews: 0, visits: 0 } });
});

test('visitors are estimated for who asks, those of the comparison too, and for nobody else', async () => {
  // Of 6,000 visitors a day one estimate in fifty is the right number.
  const [visitors, days] = [6_000, ['08', '09', '10', '11']];
  const site = await api.siteWith(
    days.flatMap((day) =>
      Array.from({ length: visitors }, (_, i) => ({ t: `2026-06-${day}T10:00:00Z`, session: `${day} ${i}` })),
    ),
  );
  const ask = async (approximate: string) => {
    const asked = ['09', '11'].map((day) => {
      const date = `2026-06-${day}`;
      return site.ask('/stats', { startDate: date, endDate: date, compare: 'prev', approximate });
    });
    const answers = await Promise.all(asked);
    return answers.flatMap((answer) => [answer.visitors, answer.comparison.visitors]);
  };
  const exact = days.map(() => visitors);
  for (const approximate of ['', 'false']) expect(await ask(approximate)).toEqual(exact);
  const estimated = await ask('true');
  expect(estimated).not.toEqual(exact);
  for (const estimate of estimated) expect(Math.abs(estimate / visitors - 1)).toBeLessThan(0.03);
  expect(await site.get('/stats', { approximate: 'maybe' })).toMatchObject({ status: 400 });
});

test('filters of the query string reach the numbers, joined as match says', async () => {
  const site = await api.siteWith([
    { t: '10:00', urlPath: '/a', pageTitle: 'Alpha, the first', browser: 'Chrome' },
    { t: '10:05', urlPath: '/b', pageTitle: 'Beta', browser: 'Chrome' },
    { t: '12:00', session: 'v', visit: 'w', urlPath: '/b', pageTitle: 'Beta', browser: 'Firefox' },
  ]);
  const pageviews = async (query: Parameters<typeof site.ask>[1]) => (await site.ask('/stats', query)).pageviews;
  expect(await pageviews({ path: '/a' })).toBe(1);
  expect(await pageviews({ url: ['/a', '/b'] })).toBe(3);
  expect(await pageviews({ path: 'neq./a', path1: 'c.b' })).toBe(2);
  expect(await pageviews({ path: ['/a', 'c.b'] })).toBe(3);
  expect(await pageviews({ path: ['/a', 'c.x'], browser: 'firefox' })).toBe(0);
  expect(await pageviews({ title: 'Alpha, the first' })).toBe(1);
  expect(await pageviews({ path: '\0' })).toBe(0);
  expect(await pageviews({ path: 'neq.\0' })).toBe(3);
  expect(await pageviews({ browser: 'chrome', path: '/b' })).toBe(1);
  expect(await pageviews({ browser: 'chrome', path: '/b', match: 'any' })).toBe(3);
  expect(await pageviews({ browser: 'chrome', path: '/b', match: 'any', excludeBounce: '0' })).toBe(2);
  expect(await pageviews({ path: '', eventType: '', match: '', segment: '' })).toBe(3);
  expect(await pageviews({ eventType: 2 })).toBe(0);
});

test('identical requests give identical bodies', async () => {
  const site = await api.siteWith([{ t: '10:00' }]);
  const query = { timezone: 'Europe/London', compare: 'prev' };
  const answers = await Promise.all(Array.from({ length: 5 }, () => site.get('/stats', query)));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
});
