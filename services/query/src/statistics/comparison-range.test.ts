import type { Compare } from '@meridian/contract/statistics';
import { expect, test } from 'vitest';
import { comparisonRange } from './comparison-range.ts';
import { findTimeZone } from './time-zone.ts';

function compared(start: string, end: string, compare: Compare, timezone = 'UTC'): [string, string] {
  const zone = findTimeZone(timezone);
  if (zone === null) throw new Error(`unknown zone ${timezone}`);
  const { startAt, endAt } = comparisonRange({ startAt: new Date(start), endAt: new Date(end) }, compare, zone);
  return [startAt.toISOString(), endAt.toISOString()];
}

test('prev has the same length to the millisecond and ends just before the range', () => {
  expect(compared('2026-06-10T00:00:00Z', '2026-06-11T00:07:00Z', 'prev')).toEqual([
    '2026-06-08T23:52:59.999Z',
    '2026-06-09T23:59:59.999Z',
  ]);
  expect(compared('2026-06-10T00:00:00Z', '2026-06-10T00:00:00Z', 'prev')).toEqual([
    '2026-06-09T23:59:59.999Z',
    '2026-06-09T23:59:59.999Z',
  ]);
});

test('prev does not mind the change of a clock', () => {
  const berlin = compared('2026-03-28T23:00:00Z', '2026-03-29T21:59:59.999Z', 'prev', 'Europe/Berlin');
  expect(berlin).toEqual(['2026-03-28T00:00:00.000Z', '2026-03-28T22:59:59.999Z']);
});

test('yoy is the same local time one calendar year earlier', () => {
  expect(compared('2026-06-10T00:00:00Z', '2026-06-10T23:59:59.999Z', 'yoy')).toEqual([
    '2025-06-10T00:00:00.000Z',
    '2025-06-10T23:59:59.999Z',
  ]);
  // 29 March 2026 is the day of Berlin's change, 29 March 2025 is not.
  expect(compared('2026-03-28T23:00:00Z', '2026-03-29T21:59:59.999Z', 'yoy', 'Europe/Berlin')).toEqual([
    '2025-03-28T23:00:00.000Z',
    '2025-03-29T22:59:59.999Z',
  ]);
});

test('yoy of 29 February is 28 February, and the day before stays itself', () => {
  expect(compared('2024-02-29T00:00:00Z', '2024-02-29T23:59:59.999Z', 'yoy')).toEqual([
    '2023-02-28T00:00:00.000Z',
    '2023-02-28T23:59:59.999Z',
  ]);
  expect(compared('2024-02-28T00:00:00Z', '2024-02-28T23:59:59.999Z', 'yoy')).toEqual([
    '2023-02-28T00:00:00.000Z',
    '2023-02-28T23:59:59.999Z',
  ]);
});

test('yoy of a day whose counterpart shows its last hour twice takes the whole of it', () => {
  // São Paulo, 17 February 2018: clock back from 24:00 to 23:00.
  expect(compared('2019-02-17T03:00:00Z', '2019-02-18T02:59:59.999Z', 'yoy', 'America/Sao_Paulo')).toEqual([
    '2018-02-17T02:00:00.000Z',
    '2018-02-18T02:59:59.999Z',
  ]);
});

test('yoy never ends before it starts: in an hour that a clock shows twice, and on a date that it skipped', () => {
  // Berlin, 25 October 2026: from 02:50 of the first hour to 02:10 of the second.
  expect(compared('2026-10-25T00:50:00Z', '2026-10-25T01:10:00Z', 'yoy', 'Europe/Berlin')).toEqual([
    '2025-10-25T00:50:00.000Z',
    '2025-10-25T01:10:00.000Z',
  ]);
  // Apia had no 30 December 2011.
  expect(compared('2012-12-29T10:00:00Z', '2012-12-30T09:59:59.999Z', 'yoy', 'Pacific/Apia')).toEqual([
    '2011-12-30T10:00:00.000Z',
    '2011-12-31T09:59:59.999Z',
  ]);
});
