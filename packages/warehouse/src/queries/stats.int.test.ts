import { expect, test } from 'vitest';
import type { Question } from '../question.ts';
import { at, createTestSite, type TestEvent, uuidV7 } from '../test-site.ts';
import { createTestWarehouse } from '../test-warehouse.ts';
import { statsQuery } from './stats.ts';

const { warehouse, client } = await createTestWarehouse();

const page = (t: string, session: string, fields: Partial<TestEvent> = {}): TestEvent => ({ t, session, ...fields });
const custom = (t: string, session: string, eventName: string): TestEvent => ({ t, session, eventType: 2, eventName });

async function siteWith(events: TestEvent[]) {
  const site = createTestSite(warehouse);
  await site.insert(events);
  return {
    ...site,
    /** [pageviews, visitors, visits, bounces, totaltime] */
    stats: async (question: Partial<Question> = {}) => {
      const { value } = await warehouse.getStats(site.ask(question));
      return [value.pageviews, value.visitors, value.visits, value.bounces, value.totaltime];
    },
  };
}

test('a website without events has five zeros', async () => {
  const site = await siteWith([]);
  expect(await site.stats()).toEqual([0, 0, 0, 0, 0]);
});

test('visitors are sessions, visits are visits, and a visit with one pageview is a bounce', async () => {
  const site = await siteWith([
    page('08:00', 'u1', { visit: 'v1' }),
    page('12:00', 'u1', { visit: 'v2' }),
    page('12:00:00', 'u2', { visit: 'v3' }),
    page('12:00:30', 'u2', { visit: 'v3' }),
  ]);
  expect(await site.stats()).toEqual([4, 2, 3, 2, 30]);
});

test('custom events are no pageviews, do not undo a bounce and count for the time', async () => {
  const site = await siteWith([
    page('10:00', 'u1'),
    custom('10:01', 'u1', 'scroll'),
    custom('11:00', 'u2', 'ping'),
    custom('11:02', 'u2', 'ping'),
  ]);
  expect(await site.stats()).toEqual([1, 2, 2, 1, 180]);
});

test('the time of each visit is cut to whole seconds before they are added', async () => {
  const site = await siteWith([
    page('10:00:00.000', 'u1'),
    page('10:00:01.999', 'u1'),
    page('10:00:00.500', 'u2'),
    page('10:00:02.400', 'u2'),
  ]);
  expect(await site.stats()).toEqual([4, 2, 2, 0, 2]);
});

test('a performance event is in none of the numbers', async () => {
  const site = await siteWith([page('10:00', 'u1'), { t: '10:05', session: 'u1', eventType: 5, lcp: 900 }]);
  expect(await site.stats()).toEqual([1, 1, 1, 1, 0]);
  expect(await site.stats({ eventType: 5 })).toEqual([0, 0, 0, 0, 0]);
});

test('both bounds of the range belong to it, and what lies outside is not judged', async () => {
  const site = await siteWith([page('10:00:00', 'u1'), page('10:10:00', 'u1'), page('10:20:00', 'u1')]);
  const range = (from: number, to: number) => ({ range: { startAt: new Date(from), endAt: new Date(to) } });
  expect(await site.stats(range(at('10:10'), at('10:20')))).toEqual([2, 1, 1, 0, 600]);
  expect(await site.stats(range(at('10:10'), at('10:20') - 1))).toEqual([1, 1, 1, 1, 0]);
  expect(await site.stats(range(at('10:00') + 1, at('10:10')))).toEqual([1, 1, 1, 1, 0]);
  expect(await site.stats(range(0, Date.UTC(9999, 0)))).toEqual([3, 1, 1, 0, 1200]);
});

test('a visit that was identified on its way has one visitor: the identified session', async () => {
  const site = await siteWith([
    page('10:00', 'anonymous', { visit: 'v1' }),
    page('10:01', 'jane', { visit: 'v1', distinctId: 'jane' }),
    page('12:00', 'jane', { visit: 'v2', distinctId: 'jane' }),
  ]);
  expect(await site.stats()).toEqual([3, 1, 2, 1, 60]);
  // Only the anonymous part lies in the range: nothing outside is judged.
  expect(await site.stats({ range: { startAt: new Date(at('10:00')), endAt: new Date(at('10:00')) } })).toEqual([
    1, 1, 1, 1, 0,
  ]);
  // The event that fits is the anonymous one; its visit's visitor is known from the other.
  const first = { name: 'distinctId', op: 'ns', values: [] } as const;
  expect(await site.stats({ filters: [first] })).toEqual([1, 1, 1, 0, 60]);
});

test('under a filter pageviews fit it, while bounces and time are those of the whole visits', async () => {
  const site = await siteWith([
    page('10:00', 'u1', { urlPath: '/a' }),
    page('10:05', 'u1', { urlPath: '/b' }),
    page('10:00', 'u2', { urlPath: '/a' }),
    page('10:00', 'u3', { urlPath: '/b' }),
    custom('10:01', 'u2', 'buy'),
  ]);
  const path = { name: 'path', op: 'eq', values: ['/a'] } as const;
  expect(await site.stats({ filters: [path] })).toEqual([2, 2, 2, 1, 360]);
  expect(await site.stats({ filters: [{ name: 'event', op: 'eq', values: ['buy'] }] })).toEqual([0, 1, 1, 1, 60]);
  expect(await site.stats({ eventType: 2 })).toEqual([0, 1, 1, 1, 60]);
  expect(await site.stats({ eventType: 1 })).toEqual([4, 3, 3, 2, 360]);
});

test('excludeBounce leaves out visits with exactly one pageview, not those with none', async () => {
  const site = await siteWith([
    page('10:00', 'bounced'),
    custom('10:01', 'bounced', 'scroll'),
    page('10:00', 'stayed'),
    page('10:05', 'stayed'),
    custom('10:00', 'silent', 'ping'),
  ]);
  expect(await site.stats({ excludeBounce: true })).toEqual([2, 2, 2, 0, 300]);
  // A visit that has a second pageview outside the range is a bounce inside it.
  expect(
    await site.stats({ excludeBounce: true, range: { startAt: new Date(at('10:02')), endAt: new Date(at('11:00')) } }),
  ).toEqual([0, 0, 0, 0, 0]);
});

test('another website is never counted', async () => {
  const [mine, other] = [
    await siteWith([page('10:00', 'u')]),
    await siteWith([page('10:00', 'u'), page('10:00', 'w')]),
  ];
  expect(await mine.stats()).toEqual([1, 1, 1, 1, 0]);
  expect(await mine.stats({ match: 'any', filters: [{ name: 'path', op: 'eq', values: ['/'] }] })).toEqual([
    1, 1, 1, 1, 0,
  ]);
  expect(await other.stats()).toEqual([2, 2, 2, 2, 0]);
});

test('visitors are exact', async () => {
  const site = await siteWith(Array.from({ length: 3_000 }, (_, i) => page('10:00', `u${i}`)));
  expect(await site.stats()).toEqual([3_000, 3_000, 3_000, 3_000, 0]);
});

test('many visitors are estimated within half a percent, for whoever asks for it', async () => {
  const site = createTestSite(warehouse);
  const visitors = 200_000;
  const numbered = (uuid: string) => `toUUID(concat('${uuid.slice(0, 24)}', leftPad(lower(hex(number)), 12, '0')))`;
  const visit = numbered(uuidV7(at('10:00'), 1));
  await client.command({
    query: `INSERT INTO events (website_id, created_at, event_id, session_id, visit_id, event_type)
      SELECT '${site.websiteId}', fromUnixTimestamp64Milli(${at('10:00')}), ${visit}, ${numbered('00000000-0000-4000-8000-')}, ${visit}, 1
      FROM numbers(${visitors})`,
  });
  const exact = { pageviews: visitors, visitors, visits: visitors, bounces: visitors, totaltime: 0 };
  expect((await warehouse.getStats(site.ask())).value).toEqual(exact);
  const { value } = await warehouse.getStats(site.ask({ approximate: true }));
  expect(value).toEqual({ ...exact, visitors: value.visitors });
  expect(Math.abs(value.visitors / visitors - 1)).toBeLessThan(0.005);
  expect(value.visitors).not.toBe(visitors);
});

test('the answer tells what it cost', async () => {
  const site = await siteWith([page('10:00', 'u')]);
  const { timing } = await warehouse.getStats(site.ask());
  expect(timing.rowsRead).toBeGreaterThan(0);
  expect(timing.bytesRead).toBeGreaterThan(0);
  expect(timing.elapsedMs).toBeGreaterThan(0);
});

test('values are bound, never written into the SQL', () => {
  const site = createTestSite(warehouse, '00000000-0000-4000-8000-000000000001');
  const { sql, params } = statsQuery(
    site.ask({ eventType: 1, filters: [{ name: 'path', op: 'eq', values: ["/' OR 1=1 --"] }] }),
    'events',
  );
  expect(sql).not.toMatch(/OR 1=1|00000000/);
  expect(params).toMatchInlineSnapshot(`
    {
      "p0": [
        "/' OR 1=1 --",
      ],
      "p1": 1,
      "p2": "00000000-0000-4000-8000-000000000001",
      "p3": 1780272000000,
      "p4": 1782863999999,
    }
  `);
});
