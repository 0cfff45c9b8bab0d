import { BatchBody } from '@meridian/contract/collect';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toBatchElements } from './batch-elements.ts';

const [a, b] = [{ type: 'event' }, null];

test.each([
  [[], []],
  [{}, []],
  [
    [a, b],
    [a, b],
  ],
  [{ 0: a, 1: b }, [a, b]],
  [{ 1: b, 0: a }, [a, b]],
  [{ events: [a, b] }, [a, b]],
  [{ events: [a], source: 'mcp' }, [a]],
  [Object.fromEntries(Array.from({ length: 12 }, (_, i) => [i, i])), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
])('%j are the events %j', (body, elements) => {
  expect(toBatchElements(body)).toEqual(elements);
});

test.each([null, true, 5, 'x', { list: [a] }, { 1: a }, { 0: a, 2: b }, { '00': a }, { events: a }, { 0: a, x: 1 }, a])(
  '%j is no batch',
  (body) => {
    expect(toBatchElements(body)).toBeNull();
  },
);

test('it agrees with the schema of record', () => {
  const key = fc.oneof(fc.constantFrom('0', '1', '2', '3', 'events', '__proto__'), fc.string());
  const body = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(key, fc.jsonValue()),
    fc.array(fc.jsonValue()).map((elements) => ({ ...elements })),
    fc.record({ events: fc.oneof(fc.array(fc.anything()), fc.jsonValue()) }),
  );
  fc.assert(
    fc.property(body, (value) => {
      expect(toBatchElements(value) !== null).toBe(BatchBody.safeParse(value).success);
    }),
    { numRuns: 3_000 },
  );
});
