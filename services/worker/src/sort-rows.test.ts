import { eventsOf, pendingEvent, rowsOf } from '@meridian/queue/test-events';
import { expect, test } from 'vitest';
import { piecesOf, sortRows } from './sort-rows.ts';

const all = (count: number): number[] => Array.from({ length: count }, (_, row) => row);

test('rows are parted by the UTC year of their event time, to the millisecond, and keep their order', () => {
  const times = [
    '2026-06-10T00:00:00.000Z',
    '2025-12-31T23:59:59.999Z',
    '2026-01-01T00:00:00.000Z',
    '2000-02-29T12:00:00.000Z',
    '2026-12-31T23:59:59.999Z',
    '1969-12-31T23:59:59.999Z',
    '2027-01-01T00:00:00.000Z',
  ];
  const rows = rowsOf(times.map((time) => pendingEvent({ createdAtMs: Date.parse(time) })));
  const { byYear, identifies } = sortRows(rows, all(times.length));
  expect([...byYear]).toEqual([
    [2026, [0, 2, 4]],
    [2025, [1]],
    [2000, [3]],
    [1969, [5]],
    [2027, [6]],
  ]);
  expect(identifies).toEqual([]);
});

test('identify is no row of the events table', () => {
  const types = ['identify', 'pageview', 'custom', 'identify', 'performance'] as const;
  const rows = rowsOf(types.map((type) => pendingEvent({ type })));
  const { byYear, identifies } = sortRows(rows, all(types.length));
  expect([...byYear.values()]).toEqual([[1, 2, 4]]);
  expect(identifies).toEqual([0, 3]);
});

test('only the rows that are named are sorted', () => {
  const rows = rowsOf([pendingEvent(), pendingEvent({ type: 'identify' }), pendingEvent()]);
  expect(sortRows(rows, [2])).toEqual({ byYear: new Map([[2026, [2]]]), identifies: [] });
});

test('the pieces of a block hold the rows that were asked for and no others, as few pieces as possible', () => {
  const events = all(10).map((i) => pendingEvent({ urlPath: `/${i}`, data: 'x'.repeat(i * 50) }));
  const rows = rowsOf(events);
  for (const [numbers, pieces] of [
    [all(10), 1],
    [[0], 1],
    [[9], 1],
    [[0, 1, 2, 5, 8, 9], 3],
    [[], 0],
  ] as const) {
    const found = piecesOf(rows, numbers);
    expect(found).toHaveLength(pieces);
    expect(Buffer.concat(found)).toEqual(
      Buffer.concat(numbers.map((row) => rows.bytes.subarray(rows.starts[row], rows.starts[row + 1]))),
    );
  }
  expect(eventsOf(rows).map((event) => event.urlPath)).toEqual(events.map((event) => event.urlPath));
});
