import { EventsAnswer } from '@meridian/contract/statistics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

const minutes = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ t: Date.parse('2026-06-10T10:00:00Z') + i * 60_000, urlPath: `/p${i}` }));
const paths = (body: EventsAnswer) => body.data.map(({ urlPath }) => urlPath);

test('the answer has the shape of the contract, newest first', async () => {
  const site = await api.siteWith(minutes(25));
  const answer = await site.ask('/events');
  expect(EventsAnswer.parse(answer)).toEqual(answer);
  expect(answer).toMatchObject({ count: 25, page: 1, pageSize: 20, isCapped: false, nextCursor: expect.any(String) });
  expect(answer.data[0]).toMatchObject({ urlPath: '/p24', createdAt: '2026-06-10T10:24:00.000Z', websiteId: site.id });
  expect(paths(await site.ask('/events', { page: 2 }))).toEqual(['/p4', '/p3', '/p2', '/p1', '/p0']);
});

test('pageSize is cut to 1,000 and told, maxResults caps count and pages', async () => {
  const site = await api.siteWith(minutes(5));
  expect(await site.ask('/events', { pageSize: 1_000_000, page: 99 })).toMatchObject({
    pageSize: 1_000,
    page: 99,
    count: 5,
    data: [],
  });
  const capped = await site.ask('/events', { maxResults: 3, pageSize: 2, page: 2 });
  expect([capped.count, capped.isCapped, paths(capped), capped.nextCursor]).toEqual([3, true, ['/p2'], null]);
});

test('a cursor reads on where the page ended, whatever arrives meanwhile', async () => {
  const site = await api.siteWith(minutes(5));
  const { nextCursor } = await site.ask('/events', { pageSize: 3 });
  await site.insert([{ t: '12:00', urlPath: '/new' }]);
  const rest = await site.ask('/events', { pageSize: 3, cursor: nextCursor });
  expect([paths(rest), rest.nextCursor]).toEqual([['/p1', '/p0'], null]);
});

test('search and filters go together', async () => {
  const site = await api.siteWith([
    { t: '10:00', urlPath: '/shoes', pageTitle: 'Red shoes' },
    { t: '10:01', urlPath: '/shoes', pageTitle: 'Blue shoes' },
    { t: '10:02', urlPath: '/100%', pageTitle: 'x' },
  ]);
  expect((await site.ask('/events', { search: 'SHOES', title: 'Red shoes' })).count).toBe(1);
  expect(paths(await site.ask('/events', { search: '%' }))).toEqual(['/100%']);
});

const cursorOf = (ms: string, position: number) =>
  Buffer.from(`${ms}.0190a5f0-0000-7000-8000-000000000001.${position}`).toString('base64url');

test('a cursor beyond everything that is stored has the page of its place', async () => {
  const site = await api.siteWith(minutes(3));
  expect(paths(await site.ask('/events', { cursor: cursorOf('10413791999999', 1) }))).toEqual(['/p2', '/p1', '/p0']);
  expect(await site.ask('/events', { cursor: cursorOf('0', 999_999_999_999_999) })).toMatchObject({
    count: 3,
    data: [],
  });
});

test.each([
  ...['0', '-1', '1.5', 'abc', 'NaN', '1e9', '10; DROP TABLE'].flatMap((value) => [
    ['page', value],
    ['pageSize', value],
    ['maxResults', value],
  ]),
  ['cursor', 'x'],
  ['cursor', "' OR 1=1"],
  ['cursor', 'e30'],
  // A time that no Date holds, one that ClickHouse has none of, and the place before the first event.
  ...['9999999999999999', '8640000000000000', '10413792000000'].map((ms) => ['cursor', cursorOf(ms, 1)]),
  ['cursor', cursorOf('1781085600000', 0)],
  ['eventType', '3'],
  ['eventType', '1 OR 1=1'],
])('%s=%s is 400 that names it', async (name, value) => {
  const site = await api.siteWith();
  const { status, json } = await site.get('/events', { [name]: value });
  expect([status, Object.keys(json.error.properties)]).toEqual([400, [name]]);
});
