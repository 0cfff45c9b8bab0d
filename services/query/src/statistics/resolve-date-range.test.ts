import { RangeQuery } from '@meridian/contract/statistics';
import { expect, test } from 'vitest';
import { readQuery } from '../http/read-query.ts';
import { resolveDateRange } from './resolve-date-range.ts';
import { findTimeZone } from './time-zone.ts';

const now = new Date('2026-06-15T12:00:00.500Z');

/** The resolved range as two ISO texts, from the query string as it is sent. */
function resolve(query: Record<string, string | number>): [string, string] {
  const params = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const parsed = readQuery(params, RangeQuery);
  const zone = findTimeZone(parsed.timezone);
  if (zone === null) throw new Error(`unknown zone ${parsed.timezone}`);
  const { startAt, endAt } = resolveDateRange(parsed, zone, now);
  return [startAt.toISOString(), endAt.toISOString()];
}
const at = (iso: string) => Date.parse(iso);
const names = (field: string) =>
  expect.objectContaining({ code: 'bad-request', properties: { [field]: expect.anything() } });

test('without bounds: the last 24 hours', () => {
  expect(resolve({})).toEqual(['2026-06-14T12:00:00.500Z', '2026-06-15T12:00:00.500Z']);
});

test('with one bound the other is now, or 24 hours before', () => {
  expect(resolve({ startAt: at('2026-06-01T00:00:00Z') })).toEqual(['2026-06-01T00:00:00.000Z', now.toISOString()]);
  expect(resolve({ endDate: '2026-06-10T12:00:00Z' })).toEqual([
    '2026-06-09T12:00:00.000Z',
    '2026-06-10T12:00:00.000Z',
  ]);
});

test('startAt and endAt win, bound by bound', () => {
  const [start, end] = [at('2026-06-01T00:00:00.001Z'), at('2026-06-02T00:00:00.002Z')];
  const dates = { startDate: '2026-05-01', endDate: '2026-05-02' };
  expect(resolve({ ...dates, startAt: start, endAt: end })).toEqual([
    '2026-06-01T00:00:00.001Z',
    '2026-06-02T00:00:00.002Z',
  ]);
  expect(resolve({ ...dates, startAt: at('2026-04-01T00:00:00Z') })).toEqual([
    '2026-04-01T00:00:00.000Z',
    '2026-05-02T23:59:59.999Z',
  ]);
  expect(resolve({ ...dates, endAt: end })).toEqual(['2026-05-01T00:00:00.000Z', '2026-06-02T00:00:00.002Z']);
});

test('a bare date is a whole day of the time zone', () => {
  const day = { startDate: '2026-06-11', endDate: '2026-06-11' };
  expect(resolve(day)).toEqual(['2026-06-11T00:00:00.000Z', '2026-06-11T23:59:59.999Z']);
  expect(resolve({ ...day, timezone: 'asia/tokyo' })).toEqual(['2026-06-10T15:00:00.000Z', '2026-06-11T14:59:59.999Z']);
});

test('days of 23 and 25 hours, and one that begins at 01:00, are whole', () => {
  const day = (date: string, timezone: string) => resolve({ startDate: date, endDate: date, timezone });
  expect(day('2026-03-29', 'Europe/Berlin')).toEqual(['2026-03-28T23:00:00.000Z', '2026-03-29T21:59:59.999Z']);
  expect(day('2026-10-25', 'Europe/Berlin')).toEqual(['2026-10-24T22:00:00.000Z', '2026-10-25T22:59:59.999Z']);
  expect(day('2026-03-29', 'Asia/Beirut')).toEqual(['2026-03-28T22:00:00.000Z', '2026-03-29T20:59:59.999Z']);
});

test('a datetime has its own offset, or that of the time zone', () => {
  const start = (startDate: string, timezone = 'Europe/Berlin') => resolve({ startDate, timezone })[0];
  expect(start('2026-06-10T14:00:00+02:00')).toBe('2026-06-10T12:00:00.000Z');
  expect(start('2026-06-10T14:00:00-0330')).toBe('2026-06-10T17:30:00.000Z');
  expect(start('2026-06-10 14:00:00.5+02')).toBe('2026-06-10T12:00:00.500Z');
  expect(start('2026-06-10T14:00-09')).toBe('2026-06-10T23:00:00.000Z');
  expect(start('2026-06-10T00:00+23:59')).toBe('2026-06-09T00:01:00.000Z');
  expect(start('2026-06-10T12:00:00.001z')).toBe('2026-06-10T12:00:00.001Z');
  expect(start('2026-06-10T12:00:00.123456Z')).toBe('2026-06-10T12:00:00.123Z');
  expect(start('2026-06-10T12:00')).toBe('2026-06-10T10:00:00.000Z');
  expect(start('2026-06-10 12:00:30', 'UTC')).toBe('2026-06-10T12:00:30.000Z');
});

test('24:00 is the midnight at which the day ends', () => {
  expect(resolve({ startDate: '2026-06-10T24:00', timezone: 'Europe/Berlin' })[0]).toBe('2026-06-10T22:00:00.000Z');
  expect(resolve({ endDate: '2026-06-10T24:00:00.000Z' })[1]).toBe('2026-06-11T00:00:00.000Z');
});

test('a local datetime that the clock shows twice begins the first time and ends the last', () => {
  const twice = '2026-10-25T02:30:00';
  expect(resolve({ startDate: twice, endDate: twice, timezone: 'Europe/Berlin' })).toEqual([
    '2026-10-25T00:30:00.000Z',
    '2026-10-25T01:30:00.000Z',
  ]);
});

test.each(['abc', 'NaN', '0x10', '1e3', '9e99', '{}', ' 1 ', '1781000000000;', '10000000000000000'])(
  '400 that names startAt: %s',
  (value) => {
    expect(() => resolve({ startAt: value })).toThrow(names('startAt'));
    expect(() => resolve({ endAt: value })).toThrow(names('endAt'));
  },
);

test.each([
  ...[
    'June',
    'June 1',
    '20260601',
    '2026-W23',
    '2026-06',
    '2026-02-30',
    '2026-13-01',
    '2026-00-10',
    '2026-06-10T24:01',
    '2026-06-10T24:00:00.001Z',
    '2026-06-10T25:00',
    '2026-06-10T10:00+25:99',
    '2026-06-10T10:00+24',
    '2026-06-10T10:00-02:60',
    '0000-02-30',
  ],
  ...['2026-06-10T12:60', '2026-06-10T12', '2026-06-10Z', '2026-06-10T12:00+5', '+002026-06-10', '2025-02-29'],
])('400 that names startDate: %s', (value) => {
  expect(() => resolve({ startDate: value })).toThrow(names('startDate'));
});

test('bounds of the years 1900 to 2299 are taken as they are, in every zone', () => {
  expect(resolve({ startAt: 0, endDate: '2299-12-31' })).toEqual([
    '1970-01-01T00:00:00.000Z',
    '2299-12-31T23:59:59.999Z',
  ]);
  const since = (startDate: string, timezone: string) => resolve({ startDate, timezone })[0];
  expect(since('1970-01-01', 'Europe/Berlin')).toBe('1969-12-31T23:00:00.000Z');
  expect(since('1970-01-01', 'Asia/Kathmandu')).toBe('1969-12-31T18:30:00.000Z');
  expect(since('1900-01-01', 'America/New_York')).toBe('1900-01-01T05:00:00.000Z');
});

test('a bound further away is moved to the nearest instant of those years', () => {
  const whole = ['1900-01-01T00:00:00.000Z', '2299-12-31T23:59:59.999Z'];
  for (const timezone of ['UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Apia']) {
    expect(resolve({ startDate: '0001-01-01', endDate: '9999-12-31', timezone })).toEqual(whole);
    expect(resolve({ startDate: '0000-01-01', endDate: '9999-12-31T24:00-23:59', timezone })).toEqual(whole);
    expect(resolve({ startAt: -62135596800000, endAt: 999999999999999, timezone })).toEqual(whole);
  }
  // The last instant of a Date, and one that none holds.
  for (const endAt of ['8640000000000000', '9999999999999999'])
    expect(resolve({ startAt: 0, endAt })[1]).toBe(whole[1]);
  expect(resolve({ startDate: '1900-01-01', timezone: 'Asia/Kathmandu' })[0]).toBe(whole[0]);
  expect(resolve({ endAt: -62135596800000 })).toEqual([whole[0], whole[0]]);
  expect(resolve({ startDate: '9998-01-01', endDate: '9999-01-01' })).toEqual([whole[1], whole[1]]);
  expect(() => resolve({ startDate: '9999-01-01', endDate: '9998-01-01' })).toThrow(names('startDate'));
});

test('a start after the end is 400, at the same instant it is not', () => {
  const refusal = (name: string) =>
    expect.objectContaining({ message: 'The range starts after its end.', properties: { [name]: expect.anything() } });
  expect(() => resolve({ startAt: 2, endAt: 1 })).toThrow(refusal('startAt'));
  expect(() => resolve({ startAt: now.getTime() + 1 })).toThrow(refusal('startAt'));
  expect(() => resolve({ startDate: '2026-06-02', endAt: 1 })).toThrow(refusal('startDate'));
  expect(resolve({ startAt: 5, endAt: 5 })).toEqual(['1970-01-01T00:00:00.005Z', '1970-01-01T00:00:00.005Z']);
});

test('fractions of a millisecond are cut', () => {
  expect(resolve({ startAt: '1781000000000.9', endAt: '1781000000001.9' })).toEqual(
    [1781000000000, 1781000000001].map((ms) => new Date(ms).toISOString()),
  );
});
