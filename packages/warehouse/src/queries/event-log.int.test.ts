import { expect, test } from 'vitest';
import { formatEventCursor, parseEventCursor } from '../event-cursor.ts';
import type { Question } from '../question.ts';
import { at, createTestSite, type TestEvent } from '../test-site.ts';
import { createTestWarehouse } from '../test-warehouse.ts';
import type { LogOptions } from './event-log.ts';
import type { LogPage } from './event-log-rows.ts';

const { warehouse } = await createTestWarehouse();

async function siteWith(events: TestEvent[]) {
  const site = createTestSite(warehouse);
  const rows = await site.insert(events);
  const log = async (
    page: LogPage = { offset: 0, limit: 100 },
    options: LogOptions = {},
    question: Partial<Question> = {},
  ) => (await warehouse.listEvents(site.ask(question), page, options)).value;
  const paths = async (...args: Parameters<typeof log>) => (await log(...args)).rows.map((row) => row.urlPath);
  return { site, rows, log, paths };
}

const minutes = (count: number): TestEvent[] =>
  Array.from({ length: count }, (_, i) => ({ t: at('10:00') + i * 60_000, urlPath: `/p${i}` }));

test('a row has all fields, as they were stored', async () => {
  const { rows, log } = await siteWith([
    {
      t: '10:00:00.123',
      urlPath: '/a',
      urlQuery: 'b=1',
      referrerDomain: 'ref.example',
      referrerPath: '/x',
      referrerQuery: 'y=1',
      pageTitle: 'A',
      eventType: 2,
      eventName: 'buy',
      distinctId: 'jane',
      data: '{"a":1}',
      browser: 'Chrome',
      os: 'Windows',
      device: 'desktop',
      country: 'DE',
      city: 'Berlin',
      tag: 't',
    },
  ]);
  expect((await log()).rows).toEqual([
    {
      id: rows[0]?.eventId,
      websiteId: rows[0]?.websiteId,
      sessionId: rows[0]?.sessionId,
      createdAt: new Date(at('10:00:00.123')),
      urlPath: '/a',
      urlQuery: 'b=1',
      referrerDomain: 'ref.example',
      referrerPath: '/x',
      referrerQuery: 'y=1',
      pageTitle: 'A',
      hostname: 'shop.example',
      eventType: 2,
      eventName: 'buy',
      distinctId: 'jane',
      hasData: true,
      browser: 'Chrome',
      os: 'Windows',
      device: 'desktop',
      country: 'DE',
      city: 'Berlin',
      tag: 't',
    },
  ]);
});

test('newest first, and equal times in the reverse order of collection', async () => {
  const { paths } = await siteWith([
    { t: '10:00', urlPath: '/old' },
    ...Array.from({ length: 40 }, (_, i) => ({ t: '11:00', urlPath: `/${i}` })),
    { t: '09:00', urlPath: '/late', collectedAt: at('12:00') },
  ]);
  expect(await paths()).toEqual([...Array.from({ length: 40 }, (_, i) => `/${39 - i}`), '/old', '/late']);
});

test('pages by offset and by cursor are disjoint and complete, also inside one instant', async () => {
  const { log, paths } = await siteWith([
    ...minutes(10),
    ...Array.from({ length: 13 }, (_, i) => ({ t: '10:05', urlPath: `/same${i}` })),
  ]);
  const all = await paths();
  expect(all.length).toBe(23);
  const byOffset = [];
  for (let offset = 0; offset < 25; offset += 5) byOffset.push(...(await paths({ offset, limit: 5 })));
  expect(byOffset).toEqual(all);

  const byCursor = [];
  let page: LogPage = { offset: 0, limit: 5 };
  for (;;) {
    const { rows, nextCursor } = await log(page);
    byCursor.push(...rows.map((row) => row.urlPath));
    if (!nextCursor) break;
    page = { cursor: nextCursor, limit: 5 };
  }
  expect(byCursor).toEqual(all);
});

test('what arrives meanwhile does not shift what a cursor reads', async () => {
  const { site, log, paths } = await siteWith(minutes(10));
  const { nextCursor } = await log({ offset: 0, limit: 5 });
  await site.insert([{ t: '12:00', urlPath: '/new' }]);
  if (!nextCursor) throw new Error('the log goes on');
  expect(await paths({ cursor: nextCursor, limit: 5 })).toEqual(['/p4', '/p3', '/p2', '/p1', '/p0']);
});

test('behind the last row there is no cursor', async () => {
  const { log } = await siteWith(minutes(10));
  expect((await log({ offset: 0, limit: 10 })).nextCursor).toBeNull();
  expect((await log({ offset: 5, limit: 5 })).nextCursor).toBeNull();
  expect(await log({ offset: 50, limit: 5 })).toMatchObject({ rows: [], count: 10, nextCursor: null });
});

test('maxResults caps the count and the pages, by offset and by cursor', async () => {
  const { log, paths } = await siteWith(minutes(50));
  const first = await log({ offset: 0, limit: 20 }, { maxResults: 30 });
  expect([first.rows.length, first.count, first.isCapped]).toEqual([20, 30, true]);
  expect((await paths({ offset: 20, limit: 20 }, { maxResults: 30 })).length).toBe(10);
  expect(await paths({ offset: 40, limit: 20 }, { maxResults: 30 })).toEqual([]);
  if (!first.nextCursor) throw new Error('the log goes on');
  const second = await log({ cursor: first.nextCursor, limit: 20 }, { maxResults: 30 });
  expect([second.rows.length, second.nextCursor]).toEqual([10, null]);
  const exact = await log({ offset: 0, limit: 20 }, { maxResults: 50 });
  expect([exact.count, exact.isCapped]).toEqual([50, false]);
});

test('search finds text in path, event name and title, in any letter case, without wildcards', async () => {
  const { paths, log } = await siteWith([
    { t: '10:00', urlPath: '/shoes/red', pageTitle: 'Red shoes' },
    { t: '10:01', urlPath: '/hats', pageTitle: 'Hats 100%' },
    { t: '10:02', urlPath: '/x', eventType: 2, eventName: 'AddToCart' },
    { t: '10:03', urlPath: '/żółw', pageTitle: 'Ärger_1' },
  ]);
  const found = async (search: string) => paths({ offset: 0, limit: 10 }, { search });
  expect(await found('SHOES/r')).toEqual(['/shoes/red']);
  expect(await found('addtoc')).toEqual(['/x']);
  expect(await found('%')).toEqual(['/hats']);
  expect(await found('_')).toEqual(['/żółw']);
  expect(await found('ärger')).toEqual(['/żółw']);
  expect(await found('ŻÓŁW')).toEqual(['/żółw']);
  expect(await found('\\')).toEqual([]);
  expect(await found("' OR 1=1 --")).toEqual([]);
  expect((await log({ offset: 0, limit: 1 }, { search: 's' })).count).toBe(2);
});

test('performance events are in the log only when type 5 is asked for', async () => {
  const { paths } = await siteWith([
    { t: '10:00', urlPath: '/view' },
    { t: '10:01', urlPath: '/custom', eventType: 2, eventName: 'x' },
    { t: '10:02', urlPath: '/performance', eventType: 5, lcp: 900 },
  ]);
  const all = { offset: 0, limit: 10 };
  expect(await paths(all)).toEqual(['/custom', '/view']);
  expect(await paths(all, {}, { eventType: 1 })).toEqual(['/view']);
  expect(await paths(all, {}, { eventType: 2 })).toEqual(['/custom']);
  expect(await paths(all, {}, { eventType: 5 })).toEqual(['/performance']);
});

test('a cursor survives being text, and other text is none', () => {
  const cursor = { createdAtMs: at('10:00'), eventId: '019eaf10-0000-7000-8000-000000000001', position: 20 };
  expect(parseEventCursor(formatEventCursor(cursor))).toEqual(cursor);
  for (const text of ['', 'x', "' OR 1=1", 'e30', Buffer.from('1.2.3').toString('base64url')])
    expect(parseEventCursor(text)).toBeNull();
});
