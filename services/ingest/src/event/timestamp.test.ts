import { expect, test } from 'vitest';
import { parseTimestamp } from './timestamp.ts';

const now = Date.parse('2026-06-10T10:00:00.500Z');
const seconds = (iso: string) => Date.parse(iso) / 1_000;

test.each([
  [seconds('2026-06-10T09:00:00Z'), '2026-06-10T09:00:00.000Z'],
  [String(seconds('2026-06-10T09:00:00Z')), '2026-06-10T09:00:00.000Z'],
  [Date.parse('2026-06-10T09:00:00.123Z'), '2026-06-10T09:00:00.123Z'],
  [String(Date.parse('2026-06-10T09:00:00.123Z')), '2026-06-10T09:00:00.123Z'],
  [seconds('2000-01-01T00:00:00Z'), '2000-01-01T00:00:00.000Z'],
  [seconds('2026-06-10T10:10:00Z'), '2026-06-10T10:10:00.000Z'],
  [Date.parse('2026-06-10T10:10:00.500Z'), '2026-06-10T10:10:00.500Z'],
])('%j is %s', (value, iso) => {
  expect(new Date(parseTimestamp(value, now) ?? 0).toISOString()).toBe(iso);
});

test.each([[undefined], [null]])('%j is no timestamp', (value) => {
  expect(parseTimestamp(value, now)).toBeNull();
});

test.each([
  [0],
  [-1],
  [seconds('1999-12-31T23:59:59Z')],
  [seconds('2026-06-10T10:10:01Z')],
  [Date.parse('2026-06-10T10:10:00.501Z')],
  [1e11],
  [1e18],
  [2 ** 53],
  [Number.POSITIVE_INFINITY],
  [1781085600.5],
  ['yesterday'],
  ['2026-06-10'],
  ['1e9'],
  ['-5'],
  [''],
  [' 1781085600'],
  [true],
  [[]],
  [{}],
])('%j is not acceptable', (value) => {
  expect(parseTimestamp(value, now)).toBeNaN();
});
