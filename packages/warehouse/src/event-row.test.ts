import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  collectedAtMsOf,
  createdAtMsOf,
  type EventRow,
  eventIdOf,
  eventRowEnd,
  eventTypeOf,
  isSameWebsite,
  readEventRow,
  websiteIdOf,
} from './event-row.ts';
import { at, createTestSite, toBlock, uuidV7 } from './test-site.ts';
import { createWarehouse } from './warehouse.ts';

const site = createTestSite(createWarehouse('http://127.0.0.1:9/meridian'));
const [pageview] = [site.toRow({ t: '10:00' })];

/** Short ASCII, anything, and texts around the lengths at which the form of the length changes. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc
    .tuple(fc.constantFrom('a', 'é', '漢', '😀'), fc.constantFrom(42, 63, 64, 127, 128, 16_383, 16_384))
    .map(([unit, n]) => unit.repeat(n)),
);
const vital = fc.option(fc.double({ noNaN: true }));
const isVital = (name: string): boolean => ['lcp', 'inp', 'fcp', 'ttfb', 'cls'].includes(name);
const row: fc.Arbitrary<EventRow> = fc
  .record(Object.fromEntries(Object.keys(pageview).map((name) => [name, isVital(name) ? vital : text])))
  .chain((values) =>
    fc
      .record({
        eventId: fc.uuid(),
        websiteId: fc.uuid(),
        sessionId: fc.uuid(),
        visitId: fc.uuid(),
        createdAtMs: fc.integer({ min: at('1900-01-01T00:00:00Z'), max: at('2299-12-31T00:00:00Z') }),
        eventType: fc.constantFrom(1, 2, 3, 5),
      })
      .map((fixed) => ({ ...values, ...fixed }) as EventRow),
  );

test('what is read of rows that lie one behind the other is what was written', () => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 4 }), (rows) => {
      const bytes = Buffer.concat(toBlock(rows));
      let start = 0;
      for (const one of rows) {
        expect(readEventRow(bytes, start)).toEqual(one);
        expect([websiteIdOf(bytes, start), eventIdOf(bytes, start)]).toEqual([one.websiteId, one.eventId]);
        expect([createdAtMsOf(bytes, start), eventTypeOf(bytes, start)]).toEqual([one.createdAtMs, one.eventType]);
        start = eventRowEnd(bytes, start);
      }
      expect(start).toBe(bytes.length);
    }),
    { numRuns: 200 },
  );
});

test('the time of collection is the one in the event id', () => {
  const times = [at('2000-01-01T00:00:00.001Z'), at('10:05:30.250'), at('2100-12-31T23:59:59.999Z')];
  const rows = times.map((ms) => toBlock([{ ...pageview, eventId: uuidV7(ms, 7) }])[0] ?? Buffer.alloc(0));
  expect(rows.map((bytes) => collectedAtMsOf(bytes, 0))).toEqual(times);
});

test('rows are of the same website when all of its id is the same', () => {
  const others = ['1b1c2d3e-4f50-4617-8829-3a4b5c6d7e8f', '0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8e'];
  const ids = ['0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8f', '0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8f', ...others];
  const rows = toBlock(ids.map((websiteId) => ({ ...pageview, websiteId })));
  const bytes = Buffer.concat(rows);
  const starts = rows.map((_, i) => rows.slice(0, i).reduce((sum, { length }) => sum + length, 0));
  expect(starts.map((start) => isSameWebsite(bytes, 0, start))).toEqual([true, true, false, false]);
});

test('bytes that are cut off have no end inside them', () => {
  const [whole = Buffer.alloc(0)] = toBlock([{ ...pageview, pageTitle: 'x'.repeat(300), cls: 1 }]);
  for (let length = 0; length < whole.length; length++)
    expect(eventRowEnd(whole.subarray(0, length), 0)).toBeGreaterThan(length);
});
