import { randomUUID } from 'node:crypto';
import type { EventRow } from '../event-row.ts';
import type { Cohort, Comparison, DateRange, Filter, FilterName, Question, Selection } from '../question.ts';
import { at, type createTestSite } from '../test-site.ts';

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

const START = at('10:00');
const SPAN_MS = 3 * 3_600_000;

/** Few values, so that they meet: empty ones, other letter cases, other alphabets, characters with a meaning elsewhere. */
const pools = {
  urlPath: ['/', '/a', '/A', '/b', '/żółw', '/100%', '/a_b', "/it's"],
  pageTitle: ['', 'Home', 'home', 'Ärger, here', '100%'],
  urlQuery: ['', 'a=1', 'a=1&b=2'],
  referrerDomain: ['', 'shop.example', 'search.example', 'blog.example'],
  referrerPath: ['', '/', '/x'],
  hostname: ['shop.example', 'www.shop.example', 'm.shop.example'],
  tag: ['', 'blue', 'Blue'],
  browser: ['Chrome', 'chrome', 'Firefox', ''],
  os: ['Windows', 'iOS', ''],
  device: ['desktop', 'mobile', 'tablet'],
  screen: ['', '390x844'],
  language: ['de-DE', 'de', 'DE-at', 'en-GB', ''],
  country: ['DE', 'GB', ''],
  region: ['DE-BE', 'GB-ENG', ''],
  city: ['London', 'łódź', 'Łódź', ''],
  utmSource: ['', 'news'],
  utmMedium: ['', 'mail'],
  utmCampaign: ['', 'june', 'June'],
  utmContent: ['', 'top'],
  utmTerm: ['', 'shoes'],
} satisfies Partial<Record<keyof EventRow, string[]>>;

/** Up to 80 events in up to 12 visits within three hours, many at the same instant, some visits identified on their way. */
export function randomRows(chance: Chance, site: ReturnType<typeof createTestSite>): EventRow[] {
  const visits = Array.from({ length: 1 + chance.whole(12) }, (_, i) => ({
    visit: `v${i}`,
    session: `anonymous${chance.whole(6)}`,
    person: chance.often(0.4) ? `person${chance.whole(3)}` : '',
    start: START + chance.whole(SPAN_MS),
  }));
  return Array.from({ length: chance.whole(80) }, () => {
    const { visit, session, person, start } = chance.pick(visits);
    const identified = person !== '' && chance.often(0.5);
    const eventType = chance.pick([1, 1, 1, 1, 2, 2, 5] as const);
    const t = Math.min(start + chance.pick([0, 500, 60_000, chance.whole(1_800_000)]), START + SPAN_MS);
    return site.toRow({
      t,
      collectedAt: t + chance.pick([0, 0, chance.whole(SPAN_MS)]),
      visit,
      session: identified ? person : session,
      distinctId: identified ? person : '',
      eventType,
      eventName: eventType === 2 ? chance.pick(['buy', 'Buy', 'sign']) : '',
      ...Object.fromEntries(Object.entries(pools).map(([field, pool]) => [field, chance.pick(pool)])),
    });
  });
}

const filterPool: Record<FilterName, readonly string[]> = {
  path: pools.urlPath,
  referrer: ['search.example', 'https://search.example/x', 'https://blog.example', 'shop.example'],
  title: pools.pageTitle,
  query: pools.urlQuery,
  os: ['windows', 'iOS'],
  browser: ['CHROME', 'firefox'],
  device: ['laptop', 'Mobile', 'tablet'],
  country: ['de', 'GB'],
  region: ['de-be', 'GB-ENG'],
  city: ['london', 'ŁÓDŹ'],
  language: ['de', 'DE-DE', 'en', 'en-us'],
  event: ['buy', 'sign'],
  utmSource: pools.utmSource,
  utmMedium: pools.utmMedium,
  utmCampaign: pools.utmCampaign,
  utmContent: pools.utmContent,
  utmTerm: pools.utmTerm,
  tag: pools.tag,
  hostname: pools.hostname,
  distinctId: ['person0', 'person1'],
};
const fragments = ['a', 'O', '%', '_', 'é', 'Ż', '.', 'example', '-'];
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
  const values = Array.from({ length: pool.length && 1 + chance.whole(2) }, () => chance.pick(pool)).filter(
    (value) => value !== '',
  );
  return { name, op, values };
}

function randomSelection(chance: Chance, counts: readonly number[]): Selection {
  const filters = Array.from({ length: chance.pick(counts) }, () => randomFilter(chance));
  return { filters, match: chance.pick(['all', 'any']) };
}

function randomRange(chance: Chance): DateRange {
  const bound = () => START + (chance.often(0.5) ? chance.whole(SPAN_MS) : chance.pick([0, SPAN_MS]));
  const [startAt = 0, endAt = 0] = [bound(), bound()].sort((a, b) => a - b);
  return { startAt: new Date(startAt), endAt: new Date(endAt) };
}

function randomCohort(chance: Chance): Cohort {
  const type = chance.pick(['path', 'event'] as const);
  const action = { type, value: chance.pick(type === 'path' ? pools.urlPath : ['buy', 'Buy', 'sign']) };
  return { ...randomSelection(chance, [0, 0, 1]), range: randomRange(chance), action };
}

export function randomQuestion(chance: Chance, websiteId: string = randomUUID()): Question {
  return {
    websiteId,
    range: randomRange(chance),
    ...randomSelection(chance, [0, 0, 0, 1, 1, 2, 3]),
    segment: chance.often(0.3) ? randomSelection(chance, [0, 1, 2]) : undefined,
    cohort: chance.often(0.25) ? randomCohort(chance) : undefined,
    collectedSince: chance.often(0.15) ? new Date(START + chance.whole(SPAN_MS)) : undefined,
    eventType: chance.pick([undefined, undefined, undefined, 1, 2, 5]),
    excludeBounce: chance.often(0.25),
    route: 'test',
  };
}

/** Ascending borders, the first at or before the start of the range. */
export function randomBuckets(chance: Chance, { range }: Question): number[] {
  const starts = new Set([range.startAt.getTime() - chance.whole(1000)]);
  const length = range.endAt.getTime() - range.startAt.getTime();
  for (let i = chance.whole(20); i > 0; i--) starts.add(range.startAt.getTime() + chance.whole(length + 1));
  return [...starts].sort((a, b) => a - b);
}
