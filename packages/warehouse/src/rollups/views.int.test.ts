import { expect, test } from 'vitest';
import { at, createTestSite } from '../test-site.ts';
import { createTestWarehouse } from '../test-warehouse.ts';
import { attributes } from '../visit-rows.ts';
import { createRollupCheck } from './check.ts';

const { warehouse, client, database } = await createTestWarehouse();

async function select(query: string): Promise<unknown[]> {
  const result = await client.query({ query, format: 'JSONCompactEachRow' });
  return result.json();
}

test('a visit of several blocks is one row: its true first moment, its identified session, its quarters, in which attributes its events differ', async () => {
  const site = createTestSite(warehouse);
  const chrome = { session: 'm', browser: 'Chrome' };
  await site.insert([{ ...chrome, t: '10:00', visit: 'v', session: 'anonymous', referrerDomain: 'b.example' }]);
  await site.insert([
    { ...chrome, t: '09:50', visit: 'v', session: 'jane', distinctId: 'jane', urlPath: '/early', utmSource: 'x' },
    { ...chrome, t: '10:16', visit: 'v', eventType: 5, lcp: 1 },
  ]);
  await site.insert([{ ...chrome, t: '10:00', visit: 'mixed', session: 'm' }]);
  await site.insert([{ t: '10:31', visit: 'mixed', session: 'm', browser: 'Firefox', eventType: 2, eventName: 'x' }]);
  const rows = await select(`
    SELECT toString(first_at), toString(last_at), tupleElement(entry, 'path'), tupleElement(exit, 'path'), pageviews, toString(quarters),
      tupleElement(source, 'utm_source'), referrers.1, bitShiftRight(visitor_key, 63) AS is_identified, visitor_key != visitor_key_min,
      os != os_max, browser != browser_max AS has_two_browsers
    FROM site_visits FINAL WHERE website_id = '${site.websiteId}' ORDER BY has_two_browsers`);
  const day = '2026-06-10 ';
  const first = [`${day}09:50:00.000`, `${day}10:00:00.000`, '/early', '/', 2, String(2 ** 3 + 2 ** 4), 'x'];
  const second = [`${day}10:00:00.000`, `${day}10:31:00.000`, '/', '/', 1, String(2 ** 4 + 2 ** 6), ''];
  expect(rows).toEqual([
    [...first, ['b.example'], 1, 1, 0, 0],
    [...second, [], 0, 0, 0, 1],
  ]);
});

test.each(attributes)(
  'a row has the least and the greatest %s of its visit, and one of all others',
  async (attribute) => {
    const site = createTestSite(warehouse);
    await site.insert(['b', 'c', 'a'].map((value) => ({ t: '10:00', [attribute]: value })));
    const columns = attributes.flatMap((name) => [name, `${name}_max`]).join(', ');
    const rows = await select(`SELECT ${columns} FROM site_visits FINAL WHERE website_id = '${site.websiteId}'`);
    expect(rows).toEqual([attributes.flatMap((name) => (name === attribute ? ['a', 'c'] : ['', '']))]);
  },
);

test('a row has every screen of its visit, however many blocks brought them', async () => {
  const site = createTestSite(warehouse);
  await site.insert(['b', 'c', 'b'].map((screen) => ({ t: '10:00', screen })));
  await site.insert(['', 'd', 'a'].map((screen) => ({ t: '10:01', screen })));
  const rows = await select(`SELECT screens.1 FROM site_visits FINAL WHERE website_id = '${site.websiteId}'`);
  expect(rows).toEqual([[['', 'a', 'b', 'c', 'd']]]);
});

test('a visit with an event an hour before the hour of its start, or 14 3/4 hours behind, is a stray one', async () => {
  const site = createTestSite(warehouse);
  const hourMs = 3_600_000;
  for (const [visit, offsetMs] of Object.entries({
    'the first moment': -hourMs,
    'just before': -hourMs - 1,
    'the last moment': 14.75 * hourMs - 1,
    'just behind': 14.75 * hourMs,
  })) {
    await site.insert([{ t: '10:00', visit, session: visit }]);
    await site.insert([{ t: at('10:00') + offsetMs, visit, session: visit }]);
  }
  const rows = await select(`
    SELECT toUnixTimestamp64Milli(if(first_at < start_hour, first_at, last_at)) - toUnixTimestamp(start_hour) * 1000 AS ms,
      bitTest(quarters, 63), visit_id IN (SELECT visit_id FROM stray_visits)
    FROM site_visits FINAL WHERE website_id = '${site.websiteId}' ORDER BY ms`);
  expect(rows).toEqual([
    [-hourMs - 1, 1, 1],
    [-hourMs, 0, 0],
    [14.75 * hourMs - 1, 0, 0],
    [14.75 * hourMs, 1, 1],
  ]);
});

test('a text counts per month (UTC) with the events of type 1 and 2 that carry it, as a path, as a title and as a name', async () => {
  const site = createTestSite(warehouse);
  await site.insert([
    { t: '2026-05-31T23:59:59.999Z', urlPath: '/a', pageTitle: 'A' },
    { t: '2026-06-01T00:00:00Z', urlPath: '/a' },
    { t: '10:00', urlPath: '/a', pageTitle: '/a', eventType: 2, eventName: '/a' },
    { t: '10:00', urlPath: '/a', eventType: 5, lcp: 1 },
    { t: '10:00', urlPath: '' },
  ]);
  const rows = await select(`
    SELECT toString(month), kind, text, events FROM site_texts FINAL WHERE website_id = '${site.websiteId}' ORDER BY ALL`);
  expect(rows).toEqual([
    ['2026-05-01', 'path', '/a', 1],
    ['2026-05-01', 'title', 'A', 1],
    ['2026-06-01', 'path', '/a', 2],
    ['2026-06-01', 'title', '/a', 1],
    ['2026-06-01', 'event', '/a', 1],
  ]);
});

test('events of the last second of a day, an hour or a month are compared with their rollups, also when no earlier one lies with them', async () => {
  const rollups = createRollupCheck(database.url);
  for (const t of ['2026-06-10T23:59:59.999Z', '2026-06-11T09:59:59.001Z', '2026-06-30T23:59:59.500Z']) {
    const site = createTestSite(warehouse);
    await site.insert([{ t }]);
    const scope = { websiteIds: [site.websiteId], from: new Date(at(t) - 3_600_000), to: new Date(at(t) + 1_000) };
    expect(await rollups.compare(new Date(), scope), t).toEqual({ drifts: [], undecided: 0 });
    expect(await rollups.compare(new Date(), { websiteIds: [site.websiteId] }), t).toEqual({
      drifts: [],
      undecided: 0,
    });
  }
  await rollups.close();
});
