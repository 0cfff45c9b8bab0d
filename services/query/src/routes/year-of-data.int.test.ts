import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { runClickHouse } from '@meridian/embedded/clickhouse-store';
import { createClickHouseDatabase, createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueryApp } from '../create-query-app.ts';
import { createTestApi } from '../query-fixtures.ts';
import { createReferenceClock } from '../statistics/reference-clock-fixtures.ts';

const seed = 20_250_101;
const eventCount = 200_000;
const yearMs = Date.UTC(2025, 0, 1);

/** What event number n is. The same is said once more in the SQL that inserts them. */
function eventOf(n: number) {
  const visit = Math.floor(n / 4);
  const step = n % 4;
  const visitor = (visit * 31 + seed) % 20_000;
  const paceMs = visit % 50 === 0 ? 29 * 60_000 : 5_000 + ((visit * 7_919 + seed) % 90_000);
  return {
    ...{ visit, visitor },
    t: yearMs + visit * 630_719 + step * paceMs,
    isPageview: !(visit % 5 === 1 && step > 0) && !(visit % 7 === 2),
    path: `/p/${(n * 13 + seed) % 200}`,
    country: ['DE', 'FR', 'US'][visitor % 3] ?? '',
  };
}
type MadeEvent = ReturnType<typeof eventOf>;
const events = Array.from({ length: eventCount }, (_, n) => eventOf(n)).sort((a, b) => a.t - b.t);

/** The events of a range, both bounds included. */
function eventsIn(startMs: number, endMs: number): MadeEvent[] {
  /** How many events are earlier. */
  const countBefore = (ms: number) => {
    let [low, high] = [0, events.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((events[middle]?.t ?? 0) < ms) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return events.slice(countBefore(startMs), countBefore(endMs + 1));
}

const insertEvents = (database: string, websiteId: string) => {
  const hex = (number: string) => `leftPad(lower(hex(toUInt64(${number}))), 12, '0')`;
  const uuidV7 = (ms: string, low: string) =>
    `toUUID(concat(left(${hex(ms)}, 8), '-', right(${hex(ms)}, 4), '-7000-8000-', ${hex(low)}))`;
  return `
  INSERT INTO ${database}.events (website_id, created_at, event_id, session_id, visit_id, event_type, hostname, url_path, event_name, country)
  WITH
    intDiv(number, 4) AS visit,
    number % 4 AS step,
    (visit * 31 + ${seed}) % 20000 AS visitor,
    if(visit % 50 = 0, 29 * 60000, 5000 + (visit * 7919 + ${seed}) % 90000) AS pace_ms,
    ${yearMs} + visit * 630719 AS visit_ms,
    NOT (visit % 5 = 1 AND step > 0) AND NOT (visit % 7 = 2) AS is_pageview
  SELECT '${websiteId}', fromUnixTimestamp64Milli(toInt64(visit_ms + step * pace_ms), 'UTC'), ${uuidV7('visit_ms + step * pace_ms', 'number')},
    ${uuidV7('0', 'visitor')}, ${uuidV7('visit_ms', 'visit')}, if(is_pageview, 1, 2), 'shop.example',
    concat('/p/', toString((number * 13 + ${seed}) % 200)), if(is_pageview, '', 'click'), ['DE', 'FR', 'US'][1 + visitor % 3]
  FROM numbers(${eventCount})`;
};

type Numbers = { pageviews: number; visitors: number; visits: number; bounces: number; totaltime: number };

/** The five numbers of the events of a range. */
function numbersOf(startMs: number, endMs: number): Numbers {
  const visits = new Map<number, MadeEvent[]>();
  for (const event of eventsIn(startMs, endMs)) visits.set(event.visit, [...(visits.get(event.visit) ?? []), event]);
  const all = [...visits.values()].map((visit) => ({
    pageviews: visit.filter(({ isPageview }) => isPageview).length,
    seconds: Math.floor(((visit.at(-1)?.t ?? 0) - (visit[0]?.t ?? 0)) / 1_000),
    visitor: visit[0]?.visitor,
  }));
  return {
    pageviews: sum(all.map(({ pageviews }) => pageviews)),
    visitors: new Set(all.map(({ visitor }) => visitor)).size,
    visits: all.length,
    bounces: all.filter(({ pageviews }) => pageviews === 1).length,
    totaltime: sum(all.map(({ seconds }) => seconds)),
  };
}

const sum = (numbers: number[]) => numbers.reduce((total, n) => total + n, 0);
const ys = (points: { y: number }[]) => points.map(({ y }) => y);

let api: Awaited<ReturnType<typeof createTestApi>>;
let clickhouse: Awaited<ReturnType<typeof createClickHouseDatabase>>;
let websiteId: string;
let token: string;

beforeAll(async () => {
  const stores = await Promise.all([createPostgresDatabase(), createRedisDatabase(), createClickHouseDatabase()]);
  clickhouse = stores[2];
  api = await createTestApi({ postgres: stores[0], redis: stores[1], clickhouseUrl: clickhouse.url });
  await api.deps.warehouse.migrate();
  ({ token } = await api.newAccount());
  websiteId = (await api.ok('POST', '/websites', { token, body: { name: 'Shop', domain: 'shop.example' } })).id;
  await runClickHouse(clickhouse.url, insertEvents(clickhouse.database, websiteId));
}, 120_000);
afterAll(async () => {
  await api.close();
  await clickhouse.drop();
});

const urlOf = (route: string, query: Record<string, string | number>) =>
  `/websites/${websiteId}${route}?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))}`;
const ask = (route: string, query: Record<string, string | number>) => api.ok('GET', urlOf(route, query), { token });

const year = { startAt: yearMs, endAt: Date.UTC(2026, 0, 1) - 1 };
const months = Array.from({ length: 12 }, (_, month) => ({
  startAt: Date.UTC(2025, month, 1),
  endAt: Date.UTC(2025, month + 1, 1) - 1,
}));

test('a year has the numbers of its events, and the pageviews of its months together', async () => {
  expect(await ask('/stats', year)).toEqual(numbersOf(year.startAt, year.endAt));
  const answers: Numbers[] = [];
  for (const month of months) answers.push(await ask('/stats', month));
  expect(answers).toEqual(months.map(({ startAt, endAt }) => numbersOf(startAt, endAt)));
  expect(sum(answers.map(({ pageviews }) => pageviews))).toBe(numbersOf(year.startAt, year.endAt).pageviews);
});

test('two hours, two days and two years have the bounces and the time of their events', async () => {
  for (const [startAt, endAt] of [
    [Date.UTC(2025, 5, 10, 10), Date.UTC(2025, 5, 10, 12)],
    [Date.UTC(2025, 5, 9, 10, 7, 30, 1), Date.UTC(2025, 5, 11, 10, 7, 30)],
    [Date.UTC(2024, 5, 1), Date.UTC(2026, 5, 1)],
  ] as const)
    expect(await ask('/stats', { startAt, endAt })).toEqual(numbersOf(startAt, endAt));
});

test('the series of a year add up to it by day and by month, each point has the numbers of its events, in any zone', async () => {
  const { pageviews: total } = numbersOf(year.startAt, year.endAt);
  for (const timezone of ['UTC', 'Asia/Kathmandu', 'America/St_Johns'])
    for (const unit of ['day', 'month', 'year'] as const) {
      const { pageviews, sessions } = await ask('/pageviews', { ...year, unit, timezone });
      const buckets = createReferenceClock(timezone).bucketsOf(rangeOf(year), unit);
      const expected = buckets.map(({ startMs }, i) => {
        const endMs = (buckets[i + 1]?.startMs ?? Number.POSITIVE_INFINITY) - 1;
        return numbersOf(Math.max(startMs, year.startAt), Math.min(endMs, year.endAt));
      });
      expect(pageviews, `${timezone} ${unit}`).toEqual(
        buckets.map(({ label }, i) => ({ x: label, y: expected[i]?.pageviews })),
      );
      expect(ys(sessions), `${timezone} ${unit}`).toEqual(expected.map(({ visits }) => visits));
      expect(sum(ys(pageviews)), `${timezone} ${unit}`).toBe(total);
    }
}, 120_000);

const rangeOf = ({ startAt, endAt }: typeof year) => ({ startAt: new Date(startAt), endAt: new Date(endAt) });

test('the breakdowns of a year count every pageview once, and every visitor of a place', async () => {
  const inYear = eventsIn(year.startAt, year.endAt);
  const { pageviews } = numbersOf(year.startAt, year.endAt);
  const paths: Numbers[] = await ask('/metrics/expanded', { ...year, type: 'path', limit: 1_000 });
  expect([paths.length, sum(paths.map((row) => row.pageviews))]).toEqual([200, pageviews]);
  const visitors = (country: string) => new Set(inYear.filter((e) => e.country === country).map((e) => e.visitor)).size;
  const places = ['DE', 'FR', 'US'].map((x) => ({ x, y: visitors(x) }));
  expect(await ask('/metrics', { ...year, type: 'country' })).toEqual(
    places.toSorted((a, b) => b.y - a.y || (a.x < b.x ? -1 : 1)),
  );
  expect(await ask('/metrics', { ...year, type: 'event' })).toEqual([
    { x: 'click', y: inYear.filter(({ isPageview }) => !isPageview).length },
  ]);
  const { count, data } = await ask('/events', { ...year, page: 150, pageSize: 1_000 });
  expect([count, data.length]).toEqual([inYear.length, 1_000]);
});

/** A ClickHouse whose settings for every call are these, and what was said to it. */
async function betweenClickHouse(settings: Record<string, string>) {
  const heard: string[] = [];
  const { origin, username, password, pathname } = new URL(clickhouse.url);
  const server = createServer(async (asked, answer) => {
    const body = await text(asked);
    const url = new URL(asked.url ?? '/', origin);
    for (const [name, value] of Object.entries(settings)) url.searchParams.set(name, value);
    heard.push(decodeURIComponent(url.search.replaceAll('+', ' ')), body);
    const passed = request(url, { method: asked.method, headers: asked.headers });
    passed.on('response', (got) => got.pipe(answer.writeHead(got.statusCode ?? 500, got.headers)));
    passed.end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const credentials = username ? `${username}:${password}@` : '';
  const warehouse = createWarehouse(
    `http://${credentials}127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
  );
  const app = createQueryApp({ ...api.deps, warehouse });
  const get = async (route: string, query: Record<string, string | number>) => {
    const answer = await app.request(`/api${urlOf(route, query)}`, { headers: { authorization: `Bearer ${token}` } });
    return { status: answer.status, headers: answer.headers, json: JSON.parse(await answer.text()) };
  };
  const close = async () => {
    await warehouse.close();
    server.close();
  };
  return { heard, get, close };
}

const questions: [route: string, query: Record<string, string>][] = [
  ['/stats', {}],
  ['/stats', { compare: 'prev', excludeBounce: '1' }],
  ['/stats', { path: '/p/1' }],
  ['/pageviews', { unit: 'day' }],
  ['/pageviews', { unit: 'month', compare: 'yoy' }],
  ['/events', {}],
  ['/events', { search: 'p/1' }],
  ['/metrics', { type: 'path' }],
  ['/metrics', { type: 'entry' }],
  ['/metrics', { type: 'country' }],
  ['/metrics/expanded', { type: 'path' }],
  ['/metrics/expanded', { type: 'browser' }],
];

test('a question that reads more than it may is refused with 503 and Retry-After, and never answered with zeros or a part', async () => {
  const limited = await betweenClickHouse({ max_rows_to_read: '10' });
  for (const [route, query] of questions) {
    const { status, headers, json } = await limited.get(route, { ...year, ...query });
    const told = `${route} ${JSON.stringify(query)}`;
    expect([status, Number(headers.get('retry-after')) > 0, Object.keys(json)], told).toEqual([503, true, ['error']]);
    expect(json.error, told).toMatchObject({ code: 'service-unavailable', status: 503 });
    expect(JSON.stringify(json), told).not.toMatch(/rows|limit|clickhouse|select/i);
  }
  await limited.close();
});

test.each([
  ['time', { max_execution_time: '0.001' }],
  ['memory', { max_memory_usage: '1000' }],
  ['groups', { max_rows_to_group_by: '2', group_by_overflow_mode: 'throw' }],
])('with little %s every question has its whole answer or none', async (_of, settings) => {
  const limited = await betweenClickHouse(settings);
  for (const [route, query] of questions) {
    const { status, json } = await limited.get(route, { ...year, ...query });
    const told = `${route} ${JSON.stringify(query)}`;
    if (status === 200) expect(json, told).toEqual(await ask(route, { ...year, ...query }));
    else expect([status, json.error.code], told).toEqual([503, 'service-unavailable']);
  }
  await limited.close();
});

test('every zone that there is has its own labels and the numbers of its hours, and ClickHouse hears of none of them', async () => {
  const zones = Intl.supportedValuesOf('timeZone');
  // Ten days in which clocks of Europe and of America are set back.
  const range = { startAt: Date.UTC(2025, 9, 25, 5, 20), endAt: Date.UTC(2025, 10, 3, 12) };
  const inRange = eventsIn(range.startAt, range.endAt).filter(({ isPageview }) => isPageview);
  const between = await betweenClickHouse({});
  const memory = () =>
    runClickHouse(clickhouse.url, "SELECT value FROM system.metrics WHERE metric = 'MemoryTracking'");
  const before = Number(await memory());
  const waiting = [...zones];
  const askOn = async () => {
    for (let timezone = waiting.pop(); timezone; timezone = waiting.pop()) {
      const { status, json } = await between.get('/pageviews', { ...range, timezone, unit: 'hour' });
      const buckets = createReferenceClock(timezone).bucketsOf(rangeOf(range), 'hour');
      const counts = new Map<number, number>();
      let bucket = 0;
      for (const { t } of inRange) {
        while (t >= (buckets[bucket + 1]?.startMs ?? Number.POSITIVE_INFINITY)) bucket++;
        counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
      }
      const points = buckets.map(({ label }, i) => ({ x: label, y: counts.get(i) ?? 0 }));
      expect([status, json.pageviews], timezone).toEqual([200, points]);
    }
  };
  await Promise.all(Array.from({ length: 4 }, askOn));
  const said = between.heard.join('\n');
  expect(between.heard.length).toBeGreaterThan(zones.length);
  expect(zones.filter((zone) => zone !== 'UTC' && said.includes(zone))).toEqual([]);
  // A zone costs ClickHouse some 5 MB for good; all of them would be 2 GB.
  expect(Number(await memory()) - before).toBeLessThan(500e6);
  await between.close();
}, 300_000);
