import { PageviewsAnswer } from '@meridian/contract/statistics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

type Points = { x: string; y: number }[];
const nonZero = (points: Points) => Object.fromEntries(points.filter(({ y }) => y > 0).map(({ x, y }) => [x, y]));
const sum = (points: Points) => points.reduce((total, { y }) => total + y, 0);

test('by day unless another unit is asked for, zero-filled, with the resolved range', async () => {
  const site = await api.siteWith([
    { t: '10:00' },
    { t: '10:20', eventType: 2, eventName: 'x' },
    { t: '2026-06-12T08:00:00Z', visit: 'later' },
  ]);
  const answer = await site.ask('/pageviews', {
    startDate: '2026-06-09',
    endDate: '2026-06-12',
    timezone: 'Asia/Tokyo',
  });
  expect(PageviewsAnswer.parse(answer)).toEqual(answer);
  const days = ['2026-06-09', '2026-06-10', '2026-06-11', '2026-06-12'];
  const points = [0, 1, 0, 1].map((y, i) => ({ x: days[i], y }));
  expect(answer).toEqual({
    pageviews: points,
    sessions: points,
    startDate: '2026-06-08T15:00:00.000Z',
    endDate: '2026-06-12T14:59:59.999Z',
  });
});

test('an event falls into the bucket of its local hour, also when that hour comes twice', async () => {
  const site = await api.siteWith([
    { t: '2026-06-10T07:10:00Z', visit: 'a' },
    { t: '2026-10-25T00:30:00Z', visit: 'b' },
    { t: '2026-10-25T01:30:00Z', visit: 'c' },
  ]);
  const hours = async (date: string, timezone: string) =>
    nonZero((await site.ask('/pageviews', { startDate: date, endDate: date, timezone, unit: 'hour' })).pageviews);
  expect(await hours('2026-06-10', 'Asia/Tehran')).toEqual({ '2026-06-10T10:00:00+03:30': 1 });
  expect(await hours('2026-06-10', 'asia/kathmandu')).toEqual({ '2026-06-10T12:00:00+05:45': 1 });
  expect(await hours('2026-10-25', 'Europe/Berlin')).toEqual({
    '2026-10-25T02:00:00+02:00': 1,
    '2026-10-25T02:00:00+01:00': 1,
  });
});

test('a zone never changes a total, a series adds up to it', async () => {
  const times = Array.from({ length: 49 }, (_, i) => Date.parse('2026-04-04T13:00:00Z') + i * 1_800_000);
  const site = await api.siteWith(times.map((t, i) => ({ t, visit: `v${i}` })));
  for (const timezone of ['UTC', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'America/St_Johns', 'Pacific/Apia'])
    for (const unit of ['minute', 'hour', 'day', 'month', 'year']) {
      const range = { startAt: times[0] ?? 0, endAt: times.at(-1) ?? 0 };
      const { pageviews, sessions } = await site.ask('/pageviews', { ...range, timezone, unit });
      expect([sum(pageviews), sum(sessions)], `${timezone} ${unit}`).toEqual([49, 49]);
    }
});

test('compare is a whole series of the other range', async () => {
  const site = await api.siteWith([
    { t: '2025-06-09T22:30:00Z', visit: 'a' },
    { t: '2026-06-10T10:00:00Z', visit: 'b' },
  ]);
  const days = { startDate: '2026-06-09', endDate: '2026-06-11', timezone: 'Europe/Berlin' };
  expect(await site.ask('/pageviews', days)).not.toHaveProperty('compare');
  const { pageviews, compare } = await site.ask('/pageviews', { ...days, compare: 'yoy' });
  expect([nonZero(pageviews), nonZero(compare.pageviews)]).toEqual([{ '2026-06-10': 1 }, { '2025-06-10': 1 }]);
  expect(compare.startDate).toBe('2025-06-08T22:00:00.000Z');
  const prev = await site.ask('/pageviews', { ...days, compare: 'prev' });
  expect(prev.compare.endDate).toBe('2026-06-08T21:59:59.999Z');
});

test('7,200 buckets are answered, more than 10,000 are 400 that names the finest unit', async () => {
  const site = await api.siteWith([{ t: '10:00' }]);
  const { pageviews } = await site.ask('/pageviews', {
    startDate: '2026-06-06',
    endDate: '2026-06-10',
    unit: 'minute',
  });
  expect([pageviews.length, sum(pageviews)]).toEqual([7_200, 1]);
  const refused = await site.get('/pageviews', { unit: 'minute' });
  expect([refused.status, refused.json.error.message]).toEqual([400, expect.stringMatching(/^unit: .*hour$/)]);
});
