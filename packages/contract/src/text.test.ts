import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutText, toText } from './text.ts';

test.each([
  ['text', 'text'],
  [5, '5'],
  [-0.5, '-0.5'],
  [true, 'true'],
  [false, 'false'],
  [null, ''],
  [undefined, ''],
  [['x'], ''],
  [{ a: 1 }, ''],
  ['', ''],
  ['   ', '   '],
])('%j is stored as %j', (value, expected) => {
  expect(toText(value, 20)).toBe(expected);
});

test.each([
  ['x'.repeat(11), 10, 'x'.repeat(10)],
  ['x'.repeat(10), 10, 'x'.repeat(10)],
  ['a😀😀', 4, 'a😀'],
  ['😀😀', 2, '😀'],
  ['😀', 1, ''],
])('%j is cut to %i units at a character border: %j', (text, maxLength, expected) => {
  expect(cutText(text, maxLength)).toBe(expected);
});

test('a text of whole characters stays one, however it is cut', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 50 }), fc.nat(40), (text, maxLength) => {
      const stored = cutText(text.toWellFormed(), maxLength);
      expect(stored.isWellFormed() && stored.length <= maxLength).toBe(true);
    }),
  );
});
