import type { Unit } from '@meridian/contract/statistics';
import { expect, test } from 'vitest';
import { type Bucket, bucketsMax, bucketsOf, finestUnit } from './buckets.ts';
import { findTimeZone, type TimeZone } from './time-zone.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const units: Unit[] = ['minute', 'hour', 'day', 'month', 'year'];

const zoneOf = (name: string): TimeZone => {
  const zone = findTimeZone(name);
  if (zone === null) throw new Error(`unknown zone ${name}`);
  return zone;
};
const range = (from: string | number, to: string | number) => ({ startAt: new Date(from), endAt: new Date(to) });
const buckets = (from: string | number, to: string | number, unit: Unit, zone = 'UTC'): Bucket[] => {
  const all = bucketsOf(range(from, to), unit, zoneOf(zone));
  if (all === null) throw new Error('too many buckets');
  return all;
};
const labels = (...args: Parameters<typeof buckets>) => buckets(...args).map(({ label }) => label);
/** The labels of the hours of a local day that begins and ends at these instants. */
const hours = (from: string, to: string, zone: string) => labels(from, Date.parse(to) - 1, 'hour', zone);
const starts = (all: Bucket[]) => all.map(({ startMs }) => startMs);

test('the first bucket holds the start of the range, the last one its end', () => {
  expect(labels('2026-06-10T10:30:00Z', '2026-06-10T12:00:00Z', 'hour')).toEqual([
    '2026-06-10T10:00:00Z',
    '2026-06-10T11:00:00Z',
    '2026-06-10T12:00:00Z',
  ]);
  expect(labels('2026-06-10T10:00:00Z', '2026-06-10T10:00:00Z', 'minute')).toEqual(['2026-06-10T10:00:00Z']);
});

test('days, months and years are labelled with the date on which they start', () => {
  expect(labels('2024-02-28T12:00:00Z', '2024-03-01T00:00:00Z', 'day')).toEqual([
    '2024-02-28',
    '2024-02-29',
    '2024-03-01',
  ]);
  expect(labels('2025-11-30T00:00:00Z', '2026-01-01T00:00:00Z', 'month')).toEqual([
    '2025-11-01',
    '2025-12-01',
    '2026-01-01',
  ]);
  expect(labels('2025-06-01T00:00:00Z', '2026-01-01T00:00:00Z', 'year')).toEqual(['2025-01-01', '2026-01-01']);
});

test('months and years begin at local midnight', () => {
  expect(buckets('2026-06-30T21:00:00Z', '2026-06-30T22:00:00Z', 'month', 'Europe/Berlin')).toEqual([
    { startMs: Date.parse('2026-05-31T22:00:00Z'), label: '2026-06-01' },
    { startMs: Date.parse('2026-06-30T22:00:00Z'), label: '2026-07-01' },
  ]);
});

test('Z is for UTC only: London in winter is +00:00', () => {
  expect(labels('2026-01-10T10:00:00Z', '2026-01-10T10:00:00Z', 'hour', 'Europe/London')).toEqual([
    '2026-01-10T10:00:00+00:00',
  ]);
});

test('a spring day in Berlin has 23 hours', () => {
  const day = hours('2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z', 'Europe/Berlin');
  expect(day).toHaveLength(23);
  expect(day.slice(0, 3)).toEqual([
    '2026-03-29T00:00:00+01:00',
    '2026-03-29T01:00:00+01:00',
    '2026-03-29T03:00:00+02:00',
  ]);
});

test('an autumn day in Berlin has 25 hours, 02:00 twice under different offsets', () => {
  const day = hours('2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z', 'Europe/Berlin');
  expect(day).toHaveLength(25);
  expect(day.slice(2, 4)).toEqual(['2026-10-25T02:00:00+02:00', '2026-10-25T02:00:00+01:00']);
});

test('hours of :30 and :45 zones start at full local hours', () => {
  const label = (zone: string) => labels('2026-06-10T07:10:00Z', '2026-06-10T07:10:00Z', 'hour', zone)[0];
  expect(label('Asia/Tehran')).toBe('2026-06-10T10:00:00+03:30');
  expect(label('Asia/Kathmandu')).toBe('2026-06-10T12:00:00+05:45');
  expect(label('Pacific/Chatham')).toBe('2026-06-10T19:00:00+12:45');
  expect(label('America/St_Johns')).toBe('2026-06-10T04:00:00-02:30');
});

test("Lord Howe's change by half an hour makes one half hour", () => {
  const day = hours('2026-04-04T13:00:00Z', '2026-04-05T13:30:00Z', 'Australia/Lord_Howe');
  expect(day).toHaveLength(25);
  expect(day.slice(0, 4)).toEqual([
    '2026-04-05T00:00:00+11:00',
    '2026-04-05T01:00:00+11:00',
    '2026-04-05T01:30:00+10:30',
    '2026-04-05T02:00:00+10:30',
  ]);
});

test('a day whose midnight is skipped begins at 01:00', () => {
  expect(hours('2026-03-28T22:00:00Z', '2026-03-29T21:00:00Z', 'Asia/Beirut')[0]).toBe('2026-03-29T01:00:00+03:00');
  expect(buckets('2018-11-04T12:00:00Z', '2018-11-04T12:00:00Z', 'day', 'America/Sao_Paulo')).toEqual([
    { startMs: Date.parse('2018-11-04T03:00:00Z'), label: '2018-11-04' },
  ]);
});

test('a day that a zone has skipped has no bucket: Apia, 30 December 2011', () => {
  expect(labels('2011-12-29T12:00:00Z', '2011-12-31T12:00:00Z', 'day', 'Pacific/Apia')).toEqual([
    '2011-12-29',
    '2011-12-31',
    '2012-01-01',
  ]);
});

test('a day that is entered twice begins the first time: St John’s, 2010-11-07, clock back at 00:01', () => {
  // 00:01 NDT became 23:01 NST of the day before.
  expect(buckets('2010-11-07T03:00:00Z', '2010-11-07T12:00:00Z', 'day', 'America/St_Johns')).toEqual([
    { startMs: Date.parse('2010-11-07T02:30:00Z'), label: '2010-11-07' },
  ]);
});

test('10,000 buckets are allowed, one more is not; the finest unit allowed is told', () => {
  const from = Date.parse('2026-06-01T00:00:00Z');
  const exactly = range(from, from + bucketsMax * 60_000 - 1);
  const oneMore = range(from, from + bucketsMax * 60_000);
  expect(bucketsOf(exactly, 'minute', zoneOf('UTC'))).toHaveLength(bucketsMax);
  expect(bucketsOf(oneMore, 'minute', zoneOf('UTC'))).toBeNull();
  expect(finestUnit(exactly, zoneOf('UTC'))).toBe('minute');
  expect(finestUnit(oneMore, zoneOf('UTC'))).toBe('hour');
  expect(finestUnit(range('2000-01-01T00:00:00Z', '2026-06-30T00:00:00Z'), zoneOf('Europe/Berlin'))).toBe('day');
  expect(finestUnit(range('1970-01-01T00:00:00Z', '2199-12-31T00:00:00Z'), zoneOf('Europe/Berlin'))).toBe('month');
});

test('what is too long for its unit in any zone is refused without a look at the zone’s clock', () => {
  const never = (): never => {
    throw new Error('looked at');
  };
  const ofZone = { offsetMsAt: never, spans: never, firstInstantAt: never, lastInstantAt: never };
  const zone: TimeZone = { isUtc: false, ...ofZone };
  const years = (count: number) => range(Date.UTC(1900, 0, 1), Date.UTC(1900 + count, 0, 1));
  expect([bucketsOf(years(2), 'minute', zone), bucketsOf(years(2), 'hour', zone)]).toEqual([null, null]);
  expect(bucketsOf(years(400), 'day', zone)).toBeNull();
});

test('10,000 days are allowed also where one had 47 hours and one was skipped: Kwajalein, 1969 and 1993', () => {
  const days = (count: number) => {
    const [startMs, zone] = [Date.UTC(1969, 8, 1), zoneOf('Pacific/Kwajalein')];
    const endMs = zone.firstInstantAt(startMs + count * dayMs) - 1;
    return bucketsOf(range(zone.firstInstantAt(startMs), endMs), 'day', zone)?.length ?? null;
  };
  // What was skipped has no bucket.
  expect([days(bucketsMax + 1), days(bucketsMax + 2)]).toEqual([bucketsMax, null]);
});

type Critical = { name: string; zone: TimeZone; instantMs: number };

/** For every zone: the turn of a year and two changes of its clock, other ones in each zone. */
const criticals: Critical[] = Intl.supportedValuesOf('timeZone').flatMap((name, index) => {
  const zone = zoneOf(name);
  const changes = zone.spans(Date.UTC(1995, 0, 1), Date.UTC(2030, 0, 1)).slice(1);
  const step = Math.ceil(changes.length / 2);
  const some = changes.filter((_, i) => i % step === index % step).map(({ startMs }) => startMs);
  return [...some, Date.UTC(2026, 0, 1)].map((instantMs) => ({ name, zone, instantMs }));
});

/** A range around the instant: the day before and after, or some hours where the buckets are minutes. */
const around = ({ instantMs }: Critical, unit: Unit) => {
  const reachMs = unit === 'minute' ? 3 * hourMs : 27 * hourMs;
  return range(instantMs - reachMs - 1_234, instantMs + reachMs + 777);
};

/** Names of the cases for which `holds` is not true. */
const violations = (holds: (critical: Critical) => boolean) =>
  criticals
    .filter((critical) => !holds(critical))
    .map(({ name, instantMs }) => `${name} ${new Date(instantMs).toISOString()}`);

test('in every zone the buckets are in order, hold the whole range and have labels of their own', () => {
  const wrong = violations((critical) =>
    units.every((unit) => {
      const { startAt, endAt } = around(critical, unit);
      const all = bucketsOf({ startAt, endAt }, unit, critical.zone) ?? [];
      const ms = starts(all);
      return (
        (ms[0] ?? Infinity) <= startAt.getTime() &&
        (ms[1] ?? Infinity) > startAt.getTime() &&
        (ms.at(-1) ?? Infinity) <= endAt.getTime() &&
        ms.every((start, i) => i === 0 || start > (ms[i - 1] ?? Infinity)) &&
        new Set(all.map(({ label }) => label)).size === all.length
      );
    }),
  );
  expect(wrong).toEqual([]);
});

test('in every zone the labels of hours are the instants at which they start', () => {
  const wrong = violations((critical) =>
    (bucketsOf(around(critical, 'hour'), 'hour', critical.zone) ?? []).every(
      ({ startMs, label }) => Date.parse(label) === startMs,
    ),
  );
  expect(wrong).toEqual([]);
});

test('in every zone each unit is made of whole smaller ones', () => {
  const wrong = violations((critical) =>
    units.slice(1).every((unit, i) => {
      const smaller = units[i] ?? 'minute';
      const { startAt, endAt } = around(critical, smaller);
      const larger = starts(bucketsOf({ startAt, endAt }, unit, critical.zone) ?? []);
      const parts = new Set(starts(bucketsOf(range(larger[0] ?? 0, endAt.getTime()), smaller, critical.zone) ?? []));
      return larger.every((ms) => parts.has(ms));
    }),
  );
  expect(wrong).toEqual([]);
});

test('in every zone a day begins at the first instant that has its date', () => {
  const formats = new Map<string, Intl.DateTimeFormat>();
  const wrong = violations((critical) => {
    const { name, zone } = critical;
    const date = formats.get(name) ?? new Intl.DateTimeFormat('en-CA', { timeZone: name, dateStyle: 'short' });
    formats.set(name, date);
    return (bucketsOf(around(critical, 'day'), 'day', zone) ?? []).every(
      ({ startMs, label }) =>
        date.format(startMs) === label &&
        [1, hourMs / 2, hourMs, 12 * hourMs].every((earlierMs) => date.format(startMs - earlierMs) < label),
    );
  });
  expect(wrong).toEqual([]);
});

test('in every zone a year has 365 days, 22 to 26 hours long', () => {
  for (const { name, zone } of new Map(criticals.map((critical) => [critical.name, critical])).values()) {
    const year = bucketsOf(range('2025-01-02T00:00:00Z', '2026-01-02T00:00:00Z'), 'day', zone) ?? [];
    const lengths = starts(year).map((ms, i, all) => (all[i + 1] ?? ms + dayMs) - ms);
    expect([year.length === 366 || year.length === 367, Math.min(...lengths) >= 22 * hourMs], name).toEqual([
      true,
      true,
    ]);
    expect(Math.max(...lengths), name).toBeLessThanOrEqual(26 * hourMs);
  }
});
