import type { EventRow } from '../event-row.ts';
import type { Cohort, Comparison, DateRange, Filter, FilterName, Question, Selection } from '../question.ts';
import { at, type createTestSite, type TestEvent } from '../test-site.ts';

/** Chance with a seed: the same seed, the same numbers. */
export function createChance(seed: number) {
  let state = seed;
  /** A number from 0 up to 1 (mulberry32). */
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const whole = (below: number) => Math.floor(random() * below);
  const pick = <T>(list: readonly T[]): T => list[whole(list.length)] as T;
  return { whole, pick, often: (share: number) => random() < share };
}
export type Chance = ReturnType<typeof createChance>;

const quarterMs = 900_000;
const hourMs = 4 * quarterMs;
const dayMs = 24 * hourMs;
/** By this zone's clock, the furthest from whole hours, days begin at 18:15 UTC. */
const kathmanduMs = 5 * hourMs + 3 * quarterMs;

/**
 * Few values, so that they meet: empty ones, other letter cases, other alphabets, characters with a meaning elsewhere.
 */
const pools = {
  urlPath: ['/', '/a', '/A', '/b', '/żółw', '/100%', '/a_b', "/it's", '/a\tb\nc\\'],
  pageTitle: ['', 'Home', 'home', 'Ärger, here', '100%', 'Μουσική: ΝΕΟΙ ΤΙΤΛΟΙ', 'ο νέος τίτλος'],
  urlQuery: ['', 'a=1', 'a=1&b=2'],
  hostname: ['shop.example', 'm.shop.example', 'www.shop.example', ''],
  tag: ['', 'blue', 'Blue'],
  data: ['', '', '{"a":1}'],
} satisfies Partial<Record<keyof EventRow, string[]>>;

/** What most visits keep from their first event to their last. */
const clientPools = {
  browser: ['Chrome', 'chrome', 'Firefox', ''],
  os: ['Windows', 'iOS', ''],
  device: ['desktop', 'mobile', 'tablet'],
  screen: ['', '390x844', '844x390', '1920x1080'],
  language: ['de-DE', 'de', 'DE-at', 'en-GB', 'en_us', 'zh-Hant-TW', ''],
  country: ['DE', 'GB', ''],
  region: ['DE-BE', 'GB-ENG', ''],
  city: ['London', 'łódź', 'Łódź', 'Χανιά', 'ΧΑΝΙΆ', ''],
} satisfies Partial<Record<keyof EventRow, string[]>>;

const referrers = ['', 'shop.example', 'search.example', 'blog.example'];
/** Sources of every kind, some of them in disguise, and domains that only look like one. */
const sourceDomains = [
  ...['www.google.co.uk', 'google.com', 'bing.com', 'search.brave.com', 'notgoogle.com', 'google.elsewhere.example'],
  ...[
    'l.facebook.com',
    'x.com',
    'flux.com',
    't.co',
    'news.ycombinator.com',
    'm.youtube.com',
    'youtu.be',
    'netflix.com',
  ],
  ...['amazon.de', 'shopping.google.com', 'chatgpt.com', 'gemini.google.com', 'mail.google.com', 'outlook.live.com'],
  'mail.acme.com',
];
const sourcePools = {
  referrerDomain: [...referrers, ...sourceDomains],
  referrerPath: ['', '/', '/x'],
  utmSource: ['', '', 'news', 'google', 'Facebook', 'youtube.com', 'eBay', 'chatgpt', 'SMS', 'newsletter', 'notgoogle'],
  utmMedium: [
    ...['', '', '', 'mail', 'E-Mail', 'organic', 'Social', 'video', 'shop', 'affiliates', 'sms', 'mms', 'smsx', 'link'],
    ...[
      'cpc',
      'xCPM',
      'cpx',
      'ppc',
      'paid',
      'paid_social',
      'video-paid',
      'unpaid',
      'display',
      'banner',
      'Ad',
      'ads',
      'adsx',
    ],
  ],
  utmCampaign: ['', 'june', 'June'],
  utmContent: ['', 'top'],
  utmTerm: ['', 'shoes'],
} satisfies Partial<Record<keyof EventRow, string[]>>;

const clickIds = ['gclid', 'fbclid', 'msclkid', 'ttclid', 'liFatId', 'twclid'] as const;

/** One value of each pool. */
const draw = (chance: Chance, from: Record<string, readonly string[]>): Partial<EventRow> =>
  Object.fromEntries(Object.entries(from).map(([field, pool]) => [field, chance.pick(pool)]));

/** Where a visitor came from, as referrer, UTM values and click ids tell. */
export const randomSource = (chance: Chance): Partial<EventRow> => ({
  ...draw(chance, sourcePools),
  ...(chance.often(0.4) && { utmSource: '', utmMedium: '' }),
  ...(chance.often(0.4) && { [chance.pick(clickIds)]: 'x' }),
});

/** The events of a website and the time in which most of them lie. */
export type RandomData = { websiteId: string; rows: EventRow[]; startMs: number; endMs: number };

/**
 * 1 to 120 events in up to 14 visits, within three hours or, less often, within four days, around `aroundMs`; without
 * it in June 2026, the four days around the end of the month.
 */
export function randomData(chance: Chance, site: ReturnType<typeof createTestSite>, aroundMs?: number): RandomData {
  const spanMs = chance.often(0.35) ? 4 * dayMs : 3 * hourMs;
  const middleMs = aroundMs ?? (spanMs > dayMs ? at('2026-07-01T00:00:00Z') : at('11:30'));
  const startMs = middleMs - spanMs / 2;
  const endMs = startMs + spanMs;
  const names = Array.from({ length: 1 + chance.whole(14) }, (_, i) => `${startMs} ${i}`);
  const visits = names.map((name) => randomVisit(chance, name, startMs, endMs));
  const events = visits.flatMap((visit) => {
    // The first form of a visit names it: the time in its id is when it was first seen, while earlier events may come
    // late.
    site.toRow({ t: visit.seenMs, visit: visit.name });
    return randomEvents(chance, visit);
  });
  const rows = shuffled(chance, events).slice(0, 120).map(site.toRow);
  return { websiteId: site.websiteId, rows, startMs, endMs };
}

type RandomVisit = ReturnType<typeof randomVisit>;

function randomVisit(chance: Chance, name: string, startMs: number, endMs: number) {
  const isLong = endMs - startMs > dayMs && chance.often(0.4);
  const lengthMs = isLong
    ? hourMs + chance.whole(chance.pick([24, 80]) * hourMs)
    : chance.pick([
        0,
        0,
        chance.whole(60_000),
        chance.whole(hourMs / 2),
        chance.whole(hourMs / 2),
        chance.whole(2 * hourMs),
      ]);
  const anyMs = startMs + chance.whole(endMs - startMs);
  const border = chance.pick([quarterMs, hourMs, dayMs]);
  const nearMs = Math.round(anyMs / border) * border + chance.pick([-lengthMs, -1, 0, -chance.whole(lengthMs + 1)]);
  const firstMs = Math.max(startMs, Math.min(chance.often(0.5) ? anyMs : nearMs, endMs - lengthMs));
  const lastMs = Math.min(firstMs + lengthMs, endMs);
  return {
    name,
    firstMs,
    lastMs,
    /** Mostly the first event; later where that came late, even by hours. */
    seenMs: chance.pick([firstMs, firstMs, firstMs, lastMs, firstMs + chance.whole(lastMs - firstMs + 1)]),
    session: `anonymous${chance.whole(6)}`,
    person: `person${chance.whole(3)}`,
    identified: chance.pick(['never', 'never', 'always', 'on the way', 'now and then'] as const),
    types: chance.pick([[1, 1, 1, 1, 2, 2, 5], [1, 1, 1, 1, 2, 2, 5], [1], [2], [2, 5]] as const),
    client: chance.often(0.67) ? draw(chance, clientPools) : undefined,
  };
}

function randomEvents(chance: Chance, visit: RandomVisit): TestEvent[] {
  const { firstMs, lastMs } = visit;
  const count = chance.pick([1, 1, 2, 3, 5, 1 + chance.whole(25)]);
  const anyMs = () => firstMs + chance.whole(lastMs - firstMs + 1);
  const others = Array.from({ length: count }, () => chance.pick([firstMs, lastMs, anyMs(), anyMs()]));
  const times = [firstMs, lastMs, ...others].slice(0, count);
  const identifiedSinceMs = anyMs();
  return times.map((t): TestEvent => {
    const isIdentified = {
      never: false,
      always: true,
      'on the way': t >= identifiedSinceMs,
      'now and then': chance.often(0.5),
    }[visit.identified];
    const eventType = chance.pick(visit.types);
    return {
      t,
      collectedAt: t + chance.pick([0, 0, chance.whole(3 * hourMs)]),
      visit: visit.name,
      session: isIdentified ? visit.person : visit.session,
      distinctId: isIdentified ? visit.person : '',
      eventType,
      eventName: eventType === 2 ? chance.pick(['buy', 'Buy', 'sign']) : '',
      ...draw(chance, pools),
      ...(visit.client ?? draw(chance, clientPools)),
      ...(chance.often(0.6) ? randomSource(chance) : { referrerDomain: chance.pick(referrers) }),
    };
  });
}

function shuffled<T>(chance: Chance, list: T[]): T[] {
  return list
    .map((value) => ({ value, rank: chance.whole(1e9) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ value }) => value);
}

const filterPool: Record<FilterName, readonly string[]> = {
  path: pools.urlPath,
  referrer: ['search.example', 'search.example/x', 'blog.example/', 'shop.example'],
  title: pools.pageTitle,
  query: pools.urlQuery,
  os: ['windows', 'iOS'],
  browser: ['CHROME', 'firefox'],
  device: ['laptop', 'Mobile', 'tablet'],
  country: ['de', 'GB'],
  region: ['de-be', 'GB-ENG'],
  city: ['london', 'ŁÓDŹ', 'χανιά'],
  language: ['de', 'DE-DE', 'en', 'en-us', 'zh', 'zh_hant', 'zh-Hant-TW'],
  event: ['buy', 'sign'],
  utmSource: sourcePools.utmSource,
  utmMedium: sourcePools.utmMedium,
  utmCampaign: sourcePools.utmCampaign,
  utmContent: sourcePools.utmContent,
  utmTerm: sourcePools.utmTerm,
  tag: pools.tag,
  hostname: pools.hostname,
  distinctId: ['person0', 'person1'],
};
const fragments = ['a', '\t', 'O', '%', '_', 'é', 'Ż', 'Μ', 'ι', 'ος', '.', 'example', '-'];
const expressions = ['^/a', 'o$', '^.$', '[a-c]|ż', 'exam.le', '^$', '\\.', 'DE'];

function randomFilter(chance: Chance): Filter {
  const first = randomComparison(chance);
  return chance.often(0.2) ? { anyOf: [first, randomComparison(chance, first.name)] } : first;
}

export function randomComparison(
  chance: Chance,
  name: FilterName = chance.pick(Object.keys(filterPool) as FilterName[]),
): Comparison {
  const op = chance.pick(['eq', 'eq', 'neq', 'c', 'dnc', 're', 'nre', 's', 'ns'] as const);
  const pool = {
    eq: filterPool[name],
    neq: filterPool[name],
    c: fragments,
    dnc: fragments,
    re: expressions,
    nre: expressions,
    s: [],
    ns: [],
  }[op];
  const values = Array.from({ length: pool.length && 1 + chance.whole(3) }, () => chance.pick(pool)).filter(
    (value) => value !== '',
  );
  return { name, op, values };
}

function randomSelection(chance: Chance, counts: readonly number[]): Selection {
  const filters = Array.from({ length: chance.pick(counts) }, () => randomFilter(chance));
  return { filters, match: chance.pick(['all', 'any']) };
}

/**
 * Bounds at the very millisecond of an event, often the first or last of its visit, or one beside it, on the borders of
 * quarters, hours and days (an end also one millisecond before), anywhere, or years away. Some ranges are of whole
 * quarters.
 */
function randomRange(chance: Chance, { rows, startMs, endMs }: RandomData): DateRange {
  const eventMs = () => {
    const { createdAtMs, visitId } = chance.pick(rows);
    const ofVisit = rows.filter((row) => row.visitId === visitId).map((row) => row.createdAtMs);
    return chance.pick([createdAtMs, Math.min(...ofVisit), Math.max(...ofVisit)]) + chance.pick([-1, 0, 0, 1]);
  };
  const anyMs = () => startMs + chance.whole(endMs - startMs);
  const fullMs = () => {
    const unitMs = chance.pick([quarterMs, hourMs, hourMs, dayMs]);
    const shiftMs = chance.pick([0, 0, kathmanduMs]);
    return Math.round((anyMs() + shiftMs) / unitMs) * unitMs - shiftMs;
  };
  const farMs = (sign: 1 | -1) => anyMs() + sign * chance.pick([1, 30, 700, 20_000]) * dayMs;
  const boundMs = (outwards: 1 | -1) => {
    const ms = chance.pick([eventMs, eventMs, anyMs, fullMs, fullMs, () => farMs(outwards)])();
    return outwards === 1 && ms % quarterMs === 0 && chance.often(0.5) ? ms - 1 : ms;
  };
  const isWhole = chance.often(0.15);
  const bounds = isWhole ? [fullMs(), fullMs()] : [boundMs(-1), boundMs(1)];
  const [startAt = 0, endAt = 0] = bounds.sort((a, b) => a - b);
  return { startAt: new Date(startAt), endAt: new Date(isWhole && endAt > startAt ? endAt - 1 : endAt) };
}

function randomCohort(chance: Chance, data: RandomData): Cohort {
  const type = chance.pick(['path', 'event'] as const);
  const action = { type, value: chance.pick(type === 'path' ? pools.urlPath : ['buy', 'Buy', 'sign']) };
  return { ...randomSelection(chance, [0, 0, 1]), range: randomRange(chance, data), action };
}

/** A third of the questions are about a range and nothing else. */
export function randomQuestion(chance: Chance, data: RandomData): Question {
  const { websiteId, startMs, endMs } = data;
  const range = randomRange(chance, data);
  if (chance.often(0.35)) return { websiteId, range, filters: [], match: 'all', route: 'test' };
  return {
    websiteId,
    range,
    ...randomSelection(chance, [0, 0, 0, 1, 1, 2, 3]),
    segment: chance.often(0.3) ? randomSelection(chance, [0, 1, 2]) : undefined,
    cohort: chance.often(0.25) ? randomCohort(chance, data) : undefined,
    collectedSince: chance.often(0.15) ? new Date(startMs + chance.whole(endMs - startMs)) : undefined,
    eventType: chance.pick([undefined, undefined, undefined, 1, 2, 5]),
    excludeBounce: chance.often(0.25),
    route: 'test',
  };
}

/**
 * Ascending borders, the first at or before the start of the range: full quarters, hours or days of a zone's clock, as
 * many as a series may have, or odd ones.
 */
export function randomBuckets(chance: Chance, { range }: Question): number[] {
  const [startMs, endMs] = [range.startAt.getTime(), range.endAt.getTime()];
  const units = [quarterMs, hourMs, dayMs].filter((unitMs) => (endMs - startMs) / unitMs < 3_000);
  if (units.length > 0 && chance.often(0.7)) {
    const unitMs = chance.pick(units);
    const shiftMs = chance.pick([0, kathmanduMs]);
    const starts = [Math.floor((startMs + shiftMs) / unitMs) * unitMs - shiftMs];
    for (let ms = (starts[0] ?? 0) + unitMs; ms <= endMs; ms += unitMs) starts.push(ms);
    return starts;
  }
  const starts = new Set([startMs - chance.whole(1000)]);
  for (let i = chance.whole(20); i > 0; i--) starts.add(startMs + chance.whole(endMs - startMs + 1));
  return [...starts].sort((a, b) => a - b);
}
