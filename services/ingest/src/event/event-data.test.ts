import fc from 'fast-check';
import { expect, test } from 'vitest';
import { flattenData } from './event-data.ts';
import { makeStorable } from './storable.ts';

const stored = (json: string) => {
  const data = JSON.parse(json) as object;
  makeStorable(data);
  const text = flattenData(data);
  return text === '' ? null : Object.entries(JSON.parse(text) as object);
};

test.each([
  ['{"s":"x","e":"","n":0,"f":1.5,"t":true,"u":false}', { s: 'x', e: '', n: 0, f: 1.5, t: true, u: false }],
  ['{"z":null,"a":1}', { a: 1 }],
  ['{"o":{"a":{"b":1},"c":2}}', { 'o.a.b': 1, 'o.c': 2 }],
  ['{"l":[1,"a",null,{"x":[]}]}', { l: '[1,"a",null,{"x":[]}]' }],
  ['{"date":"2026-02-30","number":"5"}', { date: '2026-02-30', number: '5' }],
  ['{"big":1e300,"tooBig":1e400}', { big: 1e300 }],
  ['{"long":9007199254740993}', { long: 9007199254740992 }],
  ['{"":3,"a.b":4,"$x":5,"toString":1,"hasOwnProperty":2}', { '': 3, 'a.b': 4, $x: 5, toString: 1, hasOwnProperty: 2 }],
  ['{"note":"a\\u0000b","k\\u0000":"\\ud83d"}', { note: 'ab', k: '\ufffd' }],
  ['{"l":["a\\u0000b","\\ud83d"]}', { l: '["ab","\ufffd"]' }],
])('%s is stored flat', (json, expected) => {
  expect(stored(json)).toEqual(Object.entries(expected));
});

test.each([['{}'], ['{"a":null}'], ['{"a":{"b":{}}}']])('%s is no data', (json) => {
  expect(stored(json)).toBeNull();
});

test('__proto__ and constructor are keys like any other and change no prototype', () => {
  const json = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}}}';
  expect(stored(json)).toEqual([
    ['__proto__.polluted', 1],
    ['constructor.prototype.polluted', 2],
  ]);
  expect(stored('{"__proto__":5}')).toEqual([['__proto__', 5]]);
  expect('polluted' in {}).toBe(false);
});

test('the first 100 properties are stored, keys of 500 and text values of 2,000 characters', () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`key${i}`, i]));
  expect(stored(JSON.stringify(many))?.at(-1)).toEqual(['key99', 99]);
  const nested = { a: many, b: many };
  expect(stored(JSON.stringify(nested))).toHaveLength(100);
  const [[key, value] = []] = stored(JSON.stringify({ ['k'.repeat(10_000)]: 'v'.repeat(10_000) })) ?? [];
  expect([key?.length, value.length]).toEqual([500, 2_000]);
});

test('a flattened name is cut as a whole, at a character border, however its parts are cut', () => {
  const text = fc.string({ unit: fc.constantFrom('x', '😀', '\0', '\ud83d'), minLength: 1, maxLength: 400 });
  const part = text.filter((each) => /[^\0]/.test(each));
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const data = parts.reduceRight<unknown>((inner, key) => ({ [key]: inner }), 1) as object;
      const whole = parts.map((each) => each.toWellFormed().replaceAll('\0', '')).join('.');
      const cut = whole.slice(0, 500);
      // An emoji is the only pair in these texts.
      const name = /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
      expect(stored(JSON.stringify(data))).toEqual([[name, 1]]);
    }),
  );
});

test('an object with a huge name and tens of thousands of properties costs no more than its size', () => {
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`key${i}`, i]));
  const [[name, value] = [], ...others] = stored(JSON.stringify({ ['n'.repeat(2_000_000)]: many })) ?? [];
  expect([name?.length, value, others]).toEqual([500, 49_999, []]);
});

test('of two properties with one flattened name the last counts, and both count as one', () => {
  expect(stored('{"a":{"b":1},"a.b":2}')).toEqual([['a.b', 2]]);
});

test('whatever JSON is sent, what is stored is a flat JSON object', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (data) => {
      for (const [, value] of stored(JSON.stringify(data)) ?? [])
        expect(['string', 'number', 'boolean']).toContain(typeof value);
    }),
  );
});
