import { expect, test } from 'vitest';
import { cohortRange } from './cohort-range.ts';
import { findTimeZone } from './time-zone.ts';

const now = new Date('2026-06-10T12:34:56.789Z'); // a Wednesday
const start = (text: string, zoneName = 'UTC', at = now) => {
  const zone = findTimeZone(zoneName);
  if (zone === null) throw new Error(`unknown zone ${zoneName}`);
  const { startAt, endAt } = cohortRange(text, zone, at);
  expect(endAt).toEqual(at);
  return startAt.toISOString();
};

test.each([
  ['1hour', '2026-06-10T12:00:00.000Z'],
  ['24hour', '2026-06-09T13:00:00.000Z'],
  ['0day', '2026-06-10T00:00:00.000Z'],
  ['1day', '2026-06-10T00:00:00.000Z'],
  ['30day', '2026-05-12T00:00:00.000Z'],
  ['0week', '2026-06-08T00:00:00.000Z'],
  ['2week', '2026-06-01T00:00:00.000Z'],
  ['0month', '2026-06-01T00:00:00.000Z'],
  ['7month', '2025-12-01T00:00:00.000Z'],
  ['1year', '2026-01-01T00:00:00.000Z'],
  ['9999year', '1900-01-01T00:00:00.000Z'],
])('%s begins %s and ends now', (text, expected) => {
  expect(start(text)).toBe(expected);
});

test('units are those of the zone, on a Sunday and over a change of the clock as well', () => {
  expect(start('1day', 'Europe/Berlin')).toBe('2026-06-09T22:00:00.000Z');
  expect(start('1hour', 'Asia/Kathmandu')).toBe('2026-06-10T12:15:00.000Z');
  expect(start('1week', 'UTC', new Date('2026-06-14T23:59:59.999Z'))).toBe('2026-06-08T00:00:00.000Z');
  expect(start('2day', 'Europe/Berlin', new Date('2026-03-29T12:00:00Z'))).toBe('2026-03-27T23:00:00.000Z');
});

test('a range of instants is taken as it is, within what the calendar holds; all is everything', () => {
  const zone = findTimeZone('UTC');
  if (zone === null) throw new Error('no UTC');
  const of = (text: string) => Object.values(cohortRange(text, zone, now)).map((at) => at.toISOString());
  expect(of('range:1780272000000:1782863999999')).toEqual(['2026-06-01T00:00:00.000Z', '2026-06-30T23:59:59.999Z']);
  expect(of('range:0:999999999999999')).toEqual(['1970-01-01T00:00:00.000Z', '2299-12-31T23:59:59.999Z']);
  expect(of('all')).toEqual(['1900-01-01T00:00:00.000Z', '2299-12-31T23:59:59.999Z']);
});
