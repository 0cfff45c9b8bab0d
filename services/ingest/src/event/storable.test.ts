import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeStorable, storableText } from './storable.ts';

const storable = (json: string) => {
  const value = JSON.parse(json) as object;
  makeStorable(value);
  return value;
};

test.each([
  ['a\ud83d', 'a\ufffd'],
  ['\udc00b', '\ufffdb'],
  ['a\0b\0', 'ab'],
  ['\uffff\ufeff\u2028x', '\uffff\ufeff\u2028x'],
])('%j is made storable as %j', (text, expected) => {
  expect(storableText(text)).toBe(expected);
});

test.each([
  ['["\\ud83d\\ude00","\\ude00\\ud83d","\\\\u0000","\\u00e9"]', ['😀', '\ufffd\ufffd', '\\u0000', 'é']],
  [
    '{"a":{"k\\u0000":["x\\u0000",1,null,[{"\\udc00":"\\udc00"}]]}}',
    { a: { k: ['x', 1, null, [{ '\ufffd': '\ufffd' }]] } },
  ],
  ['{"a":1,"a\\u0000":2}', { a: 2 }],
  ['{"a\\u0000":1,"a":2}', { a: 2 }],
  ['{"a\\u0000":{"b":1},"a":"x","a\\u0000\\u0000":"y\\u0000","\\ud800":1,"\ufffd":2}', { a: 'y', '\ufffd': 2 }],
])('%s has only storable texts and keys then', (json, expected) => {
  expect(storable(json)).toEqual(expected);
});

test('a key that becomes __proto__ is a key like any other', () => {
  const value = storable('{"__proto__\\u0000":{"a":1}}');
  expect(Object.entries(value)).toEqual([['__proto__', { a: 1 }]]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
});

test('whatever the JSON, no text of it holds NUL or half a character then', () => {
  const texts = fc.string({ unit: fc.constantFrom('a', 'é', '😀', '\0', '\ud83d', '\\', '"') });
  fc.assert(
    fc.property(fc.object({ key: texts, values: [texts, fc.integer()] }), (object) => {
      // JSON.stringify writes both as escapes, and nothing else that is drawn here.
      expect(JSON.stringify(storable(JSON.stringify(object)))).not.toMatch(/(^|[^\\])(\\\\)*\\u/);
    }),
  );
});
