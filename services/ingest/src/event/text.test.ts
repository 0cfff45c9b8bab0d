import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cleanText, toText } from './text.ts';

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
  ['a\ud83d', 'a\ufffd'],
  ['\udc00b', '\ufffdb'],
  ['a\0b\0', 'ab'],
  ['\uffff\ufeff\u2028x', '\uffff\ufeff\u2028x'],
])('%j is made storable as %j', (text, expected) => {
  expect(cleanText(text, 100)).toBe(expected);
});

test.each([
  ['x'.repeat(11), 10, 'x'.repeat(10)],
  ['x'.repeat(10), 10, 'x'.repeat(10)],
  ['a😀😀', 4, 'a😀'],
  ['😀😀', 2, '😀'],
  ['😀', 1, ''],
])('%j is cut to %i units at a character border: %j', (text, maxLength, expected) => {
  expect(cleanText(text, maxLength)).toBe(expected);
});

test('NUL does not count for the length', () => {
  expect(cleanText(`\0${'x'.repeat(10)}`, 10)).toBe('x'.repeat(10));
});

test('any text becomes well-formed, without NUL, and not longer than allowed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 50 }), fc.nat(40), (text, maxLength) => {
      const clean = cleanText(text, maxLength);
      expect(clean.isWellFormed() && !clean.includes('\0') && clean.length <= maxLength).toBe(true);
    }),
  );
});
