import { expect, test } from 'vitest';
import { at, createTestSite } from '../test-site.ts';
import { createTestWarehouse } from '../test-warehouse.ts';

const { warehouse } = await createTestWarehouse();

const HOUR = 3_600_000;
const hoursFrom = (start: number, count: number) => Array.from({ length: count }, (_, i) => start + i * HOUR);
const between = (from: string, to: string) => ({ range: { startAt: new Date(at(from)), endAt: new Date(at(to)) } });

test('every bucket has its numbers, and a visit belongs to each in which it has an event', async () => {
  const site = createTestSite(warehouse);
  await site.insert([
    { t: '10:50', session: 'u' },
    { t: '11:05', session: 'u' },
    { t: '11:10', session: 'u', eventType: 2, eventName: 'x' },
    { t: '12:59:59.999', session: 'w', eventType: 2, eventName: 'x' },
    { t: '13:00', session: 'z', eventType: 5 },
  ]);
  const { value } = await warehouse.getPageviewSeries(
    site.ask(between('10:00', '13:59:59.999')),
    hoursFrom(at('10:00'), 4),
  );
  expect(value).toEqual({ pageviews: [1, 1, 0, 0], visits: [1, 1, 1, 0] });
});

test('the first bucket may begin before the range, whose bounds still hold', async () => {
  const site = createTestSite(warehouse);
  await site.insert([{ t: '10:29' }, { t: '10:30' }, { t: '11:15' }, { t: '11:15:00.001' }]);
  const { value } = await warehouse.getPageviewSeries(site.ask(between('10:30', '11:15')), hoursFrom(at('10:00'), 2));
  expect(value).toEqual({ pageviews: [1, 1], visits: [1, 1] });
});

test('buckets may have any lengths: a border belongs to the bucket that it begins', async () => {
  const site = createTestSite(warehouse);
  await site.insert([{ t: '10:00' }, { t: '10:00:00.001' }, { t: '10:06:59.999' }, { t: '10:07' }, { t: '20:00' }]);
  const borders = [at('10:00'), at('10:00') + 1, at('10:07')];
  const { value } = await warehouse.getPageviewSeries(site.ask(between('10:00', '23:00')), borders);
  expect(value.pageviews).toEqual([1, 2, 2]);
});

test('under a filter only events that fit count, for visits too', async () => {
  const site = createTestSite(warehouse);
  await site.insert([
    { t: '10:00', session: 'u', urlPath: '/a' },
    { t: '11:00', session: 'u', urlPath: '/b' },
    { t: '11:00', session: 'w', urlPath: '/b' },
    { t: '11:10', session: 'w', urlPath: '/b' },
  ]);
  const ask = (question: object) =>
    warehouse.getPageviewSeries(site.ask({ ...between('10:00', '11:59'), ...question }), hoursFrom(at('10:00'), 2));
  expect((await ask({ filters: [{ name: 'path', op: 'eq', values: ['/a'] }] })).value).toEqual({
    pageviews: [1, 0],
    visits: [1, 0],
  });
  expect((await ask({ filters: [{ name: 'path', op: 'neq', values: ['/a'] }] })).value).toEqual({
    pageviews: [0, 3],
    visits: [0, 2],
  });
});

test('10,000 buckets of a minute, and of a day, are answered', async () => {
  const site = createTestSite(warehouse);
  await site.insert([{ t: '10:00:59.999' }, { t: Date.UTC(2026, 5, 16, 22, 39) }, { t: Date.UTC(2000, 0, 1) }]);
  const minutes = Array.from({ length: 10_000 }, (_, i) => at('00:00') + i * 60_000);
  const byMinute = await warehouse.getPageviewSeries(site.ask(between('00:00', '2026-06-16T22:39:59.999Z')), minutes);
  expect(byMinute.value.pageviews.length).toBe(10_000);
  expect(byMinute.value.pageviews.flatMap((count, i) => (count ? [i] : []))).toEqual([600, 9999]);

  const days = Array.from({ length: 10_000 }, (_, i) => Date.UTC(2000, 0, 1 + i));
  const byDay = await warehouse.getPageviewSeries(
    site.ask(between('2000-01-01T00:00:00Z', '2027-05-18T23:59:59Z')),
    days,
  );
  expect(byDay.value.pageviews.reduce((sum, count) => sum + count)).toBe(3);
  expect(byDay.value.pageviews[0]).toBe(1);
});

test('without events all buckets are zero', async () => {
  const site = createTestSite(warehouse);
  const { value } = await warehouse.getPageviewSeries(site.ask(), [at('2026-06-01T00:00:00Z')]);
  expect(value).toEqual({ pageviews: [0], visits: [0] });
});

test('events of the last second before a quarter of an hour count, also when no earlier one lies with them', async () => {
  const site = createTestSite(warehouse);
  // A month of its own, so that no other website's events come into the same part of the table.
  const day = '2019-10-15T';
  await site.insert([{ t: `${day}15:59:59.999Z` }, { t: `${day}17:02:19.048Z` }]);
  const question = site.ask(between(`${day}15:59:59.998Z`, `${day}19:05:13.904Z`));
  const series = await warehouse.getPageviewSeries(question, [at(`${day}00:00:00Z`)]);
  expect(series.value).toEqual({ pageviews: [2], visits: [1] });
  const { count, rows } = (await warehouse.listEvents(question, { offset: 0, limit: 10 })).value;
  expect([count, rows.length]).toEqual([2, 2]);
});
