import { randomUUID } from 'node:crypto';
import type { Unit } from '@meridian/contract/statistics';
import type { Comparison, DateRange, Filter, Question } from '@meridian/warehouse/question';
import { referenceLog, referenceMetrics, referenceSeries, referenceStats } from '@meridian/warehouse/reference/answers';
import {
  type Chance,
  createChance,
  type RandomData,
  randomData,
  randomQuestion,
} from '@meridian/warehouse/reference/random-data';
import { createTestSite, toBlock } from '@meridian/warehouse/test-site';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createReferenceClock,
  nextDate,
  type ReferenceClock,
  referenceComparison,
} from '../statistics/reference-clock-fixtures.ts';
import { createStatisticsApi } from '../statistics-fixtures.ts';

/** REFERENCE_SEED repeats a run that failed. */
const seed = Number(process.env.REFERENCE_SEED ?? Date.now() % 1_000_000);

const QUESTIONS_PER_SITE = 5;
const AT_ONCE = 4;
const bucketsMax = 10_000;
const unitMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000, month: 28 * 86_400_000, year: 365 * 86_400_000 };
const metricTypes = [
  ...['path', 'entry', 'exit', 'channel', 'title', 'query', 'hostname', 'referrer', 'event', 'tag', 'browser', 'os'],
  ...['device', 'screen', 'language', 'country', 'region', 'city', 'distinctId', 'utmSource', 'utmMedium'],
] as ('path' | 'channel')[];

/** Zones and instants around which their clocks do what is hard. */
const hard: [zone: string, instant: string][] = [
  ['UTC', '2026-07-01T00:00:00Z'],
  ['Asia/Kathmandu', '2026-06-30T18:15:00Z'],
  ['Asia/Kathmandu', '1985-12-31T18:30:00Z'], // from +05:30 to +05:45
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'], // by half an hour
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
  ['Pacific/Apia', '2011-12-30T10:00:00Z'], // has no 30 December
  ['America/St_Johns', '2010-11-07T02:31:00Z'], // from 00:01 to 23:01 of the day before
  ['Africa/Casablanca', '2026-02-15T02:00:00Z'], // Ramadan
  ['Africa/Casablanca', '2026-03-22T02:00:00Z'],
  ['Europe/Berlin', '2026-03-29T01:00:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00:00Z'],
  ['America/Sao_Paulo', '2017-10-15T03:00:00Z'], // begins at 01:00
  ['America/Sao_Paulo', '2018-02-18T02:00:00Z'], // 23:00 twice
  ['Asia/Beirut', '2026-03-28T22:00:00Z'], // begins at 01:00
  ['Atlantic/Azores', '2026-10-25T01:00:00Z'], // midnight twice
  ['America/Santiago', '2026-09-06T04:00:00Z'],
  ['Antarctica/Troll', '2026-03-29T01:00:00Z'], // by two hours
  ['Asia/Pyongyang', '2018-05-04T15:00:00Z'], // 23:30 to midnight
  ['Pacific/Chatham', '2026-04-04T14:00:00Z'],
  ['Europe/London', '2024-02-29T12:00:00Z'],
  ['Pacific/Kiritimati', '1994-12-31T10:00:00Z'], // skips the last day of the year
];

type Asked = { data: RandomData; zone: string; clock: ReferenceClock; chance: Chance };
type Api = Awaited<ReturnType<typeof createStatisticsApi>>;
let api: Api;
let asked: Asked[];

beforeAll(async () => {
  api = await createStatisticsApi();
  const chance = createChance(seed);
  const sites: Omit<Asked, 'chance'>[] = [];
  for (const [zone, instant] of hard) {
    const { id } = await api.siteWith();
    const site = createTestSite(api.deps.warehouse, id);
    const data = randomData(chance, site, Date.parse(instant));
    const yearEarlier = randomData(chance, site, Date.parse(instant) - 365 * unitMs.day).rows;
    sites.push({ data: { ...data, rows: [...data.rows, ...yearEarlier] }, zone, clock: createReferenceClock(zone) });
  }
  const rows = sites.flatMap(({ data }) => data.rows);
  const years = new Set(rows.map((row) => new Date(row.createdAtMs).getUTCFullYear()));
  for (const year of years) {
    const block = rows.filter((row) => new Date(row.createdAtMs).getUTCFullYear() === year);
    await api.deps.warehouse.insertEvents(toBlock(block), randomUUID());
  }
  asked = sites.flatMap((site) =>
    Array.from({ length: QUESTIONS_PER_SITE }, () => ({ ...site, chance: createChance(chance.whole(1_000_000)) })),
  );
}, 120_000);
afterAll(() => api.close());

test(`random query strings have the reference's answers (seed ${seed})`, async () => {
  const waiting = [...asked];
  const askOn = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) await check(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, askOn));
}, 600_000);

/** Asks all routes about one random question. */
async function check({ data, zone, clock, chance }: Asked): Promise<void> {
  const { params: bounds, range } = randomBounds(chance, withinYears(randomQuestion(chance, data).range, data), clock);
  const selection = randomSelection(chance, data);
  const compare = chance.pick([undefined, 'prev', 'yoy'] as const);
  const question: Question = { ...selection, range };
  const compared = compare && { ...question, range: referenceComparison(range, compare, clock) };
  const params = new URLSearchParams([...bounds, ...selectionParams(chance, selection), ['timezone', zone]]);
  if (compare) params.set('compare', compare);

  const ask = (route: string, more: Record<string, string | number> = {}) => {
    const all = new URLSearchParams([...params, ...Object.entries(more).map(([name, value]) => [name, String(value)])]);
    return api.call('GET', `/websites/${data.websiteId}${route}?${all}`, { token: api.token });
  };
  const told = JSON.stringify({ seed, query: decodeURIComponent(String(params)), range });
  const { rows } = data;

  const stats = await ask('/stats');
  expect([stats.status, stats.json], told).toEqual([
    200,
    { ...referenceStats(rows, question), ...(compared && { comparison: referenceStats(rows, compared) }) },
  ]);

  const unit = chance.pick(['minute', 'hour', 'hour', 'day', 'day', 'month', 'year'] as const);
  const series = await ask('/pageviews', { unit });
  const points = [range, ...(compared ? [compared.range] : [])].map((one) => pointsAtMost(one, unit));
  if (Math.max(...points) > bucketsMax) {
    expect([series.status, series.json.error.message], told).toEqual([400, expect.stringMatching(/^unit: /)]);
  } else {
    const answer = { ...expectedSeries(rows, question, unit, clock) };
    const expected = { ...answer, ...(compared && { compare: expectedSeries(rows, compared, unit, clock) }) };
    expect([series.status, series.json], `${told} ${unit}`).toEqual([200, expected]);
    expect(sum(series.json.pageviews), told).toBe(stats.json.pageviews);
    expect(sum(series.json.sessions), told).toBeGreaterThanOrEqual(stats.json.visits);
  }

  const ranking = { type: chance.pick(metricTypes), limit: chance.pick([500, 500, 3]), offset: chance.pick([0, 0, 1]) };
  const [metrics, expanded] = [await ask('/metrics', ranking), await ask('/metrics/expanded', ranking)];
  const reference = referenceMetrics(rows, question, ranking);
  expect([metrics.status, metrics.json], `${told} ${JSON.stringify(ranking)}`).toEqual([200, reference.metrics]);
  expect([expanded.status, expanded.json], `${told} ${JSON.stringify(ranking)}`).toEqual([200, reference.expanded]);

  const search = chance.pick(['', '', 'A', 'żó', '%']);
  const log = JSON.parse(JSON.stringify(referenceLog(rows, question, search)));
  const pageSize = 1 + chance.whole(log.length + 1);
  const first = await ask('/events', { search, pageSize });
  const count = { count: log.length, pageSize, isCapped: false };
  expect([first.status, first.json], told).toMatchObject([200, { ...count, page: 1, data: log.slice(0, pageSize) }]);
  const second = await ask('/events', { search, pageSize, page: 2 });
  expect(second.json, told).toMatchObject({ ...count, page: 2, data: log.slice(pageSize, 2 * pageSize) });
  expect(first.json.nextCursor === null, told).toBe(log.length <= pageSize);
  if (first.json.nextCursor === null) return;
  const rest = await ask('/events', { search, pageSize: 1_000, cursor: first.json.nextCursor });
  expect([rest.json.data, rest.json.nextCursor], told).toEqual([log.slice(pageSize), null]);
}

const sum = (points: { y: number }[]) => points.reduce((total, { y }) => total + y, 0);

/** More than a series may have, or at most so many. */
const pointsAtMost = ({ startAt, endAt }: DateRange, unit: Unit) =>
  Math.ceil((endAt.getTime() - startAt.getTime()) / unitMs[unit]) + 2;

function expectedSeries(rows: RandomData['rows'], question: Question, unit: Unit, clock: ReferenceClock) {
  const buckets = clock.bucketsOf(question.range, unit);
  const starts = buckets.map(({ startMs }) => startMs);
  const { pageviews, visits } = referenceSeries(rows, question, starts);
  const points = (counts: number[]) => buckets.map(({ label }, i) => ({ x: label, y: counts[i] }));
  return {
    pageviews: points(pageviews),
    sessions: points(visits),
    startDate: question.range.startAt.toISOString(),
    endDate: question.range.endAt.toISOString(),
  };
}

/** As a clock that is read minute by minute can tell it within the test's time. */
function withinYears({ startAt, endAt }: DateRange, { startMs, endMs }: RandomData): DateRange {
  return {
    startAt: new Date(Math.max(startAt.getTime(), startMs - 1.1 * unitMs.year)),
    endAt: new Date(Math.min(endAt.getTime(), endMs + 0.3 * unitMs.year)),
  };
}

type Param = [name: string, value: string];

/** A range in one of the ways in which it can be asked for; local dates and times widen it. */
function randomBounds(chance: Chance, { startAt, endAt }: DateRange, clock: ReferenceClock) {
  const [startMs, endMs] = [startAt.getTime(), endAt.getTime()];
  const [startLocal, endLocal] = [clock.localMinute(startMs), clock.localMinute(endMs)];
  const [startDay, endDay] = [startLocal.slice(0, 10), endLocal.slice(0, 10)];
  const ways = {
    milliseconds: [
      [['startAt', startMs], startMs],
      [['endAt', endMs], endMs],
    ],
    instants: [
      [['startDate', startAt.toISOString()], startMs],
      [['endDate', endAt.toISOString()], endMs],
    ],
    days: [
      [['startDate', startDay], clock.firstInstant(`${startDay}T00:00`)],
      [['endDate', endDay], clock.firstInstant(`${nextDate(endDay)}T00:00`) - 1],
    ],
    'local times': [
      [['startDate', startLocal], clock.firstInstant(startLocal)],
      [['endDate', endLocal], clock.lastInstant(endLocal)],
    ],
  } as const;
  const names = Object.keys(ways) as (keyof typeof ways)[];
  const [start, end] = [ways[chance.pick(names)][0], ways[chance.pick(names)][1]];
  const both = start[1] <= end[1] ? [start, end] : ways.milliseconds;
  const params = both.map(([[name, value]]): Param => [name, String(value)]);
  return { params, range: { startAt: new Date(both[0]?.[1] ?? 0), endAt: new Date(both[1]?.[1] ?? 0) } };
}

type Selected = Omit<Question, 'range'>;

/**
 * What a query string can say: a comparison without values is ignored, and alternatives have an operator of their own
 * each.
 */
function randomSelection(chance: Chance, data: RandomData): Selected {
  const { range: _, segment: __, cohort: ___, collectedSince: ____, ...question } = randomQuestion(chance, data);
  const says = ({ op, values }: Comparison) => op === 's' || op === 'ns' || values.length > 0;
  const filters = question.filters.flatMap((filter): Filter[] => {
    const comparisons = ('anyOf' in filter ? filter.anyOf : [filter]).filter(says);
    const [first, second] = comparisons;
    if (!first) return [];
    return second && second.op !== first.op ? [{ anyOf: [first, second] }] : [first];
  });
  return { ...question, filters };
}

/** A key of its own for each filter, all its values under it; `eq.` may be left out. */
function selectionParams(chance: Chance, { filters, match, eventType, excludeBounce }: Selected): Param[] {
  const params = filters.flatMap((filter, i) =>
    ('anyOf' in filter ? filter.anyOf : [filter]).flatMap(({ name, op, values }) =>
      (values.length > 0 ? values : ['x']).map((value): Param => {
        const prefix = op === 'eq' && chance.often(0.5) ? '' : `${op}.`;
        const isPage = name === 'referrer' && ['eq', 'neq'].includes(op) && value.includes('/');
        return [i === 0 ? name : `${name}${i}`, prefix + (isPage ? `https://${value}` : value)];
      }),
    ),
  );
  if (match === 'any' || chance.often(0.3)) params.push(['match', match]);
  if (eventType) params.push(['eventType', String(eventType)]);
  if (excludeBounce) params.push(['excludeBounce', chance.pick(['1', 'true', 'false'])]);
  return chance.often(0.5) ? params : params.reverse();
}
