import { expect, test } from 'vitest';
import { hasMoreValues } from './json-values.ts';

const has = (text: string, max: number) => hasMoreValues(Buffer.from(text), max);

test('lists, objects and what is in them count; the body need not be whole', () => {
  for (const text of ['[1,2,3,4]', '{"a":1,"b":2,"c":3,"d":4}', '[[[[1]]]]', '[{"a":[{', '[,,,'])
    expect([text, has(text, 3), has(text, 4)]).toEqual([text, true, false]);
});

test('what is in a text does not count, whatever is escaped there', () => {
  for (const text of [
    '{"a":",,,[[[{{{"}',
    '["\\",,,,",1]',
    '["\\\\",2]',
    '[",,,,,,,',
    `["${'\\\\'.repeat(20)}\\",,,,,,,"]`,
  ])
    expect([text, has(text, 2)]).toEqual([text, false]);
  expect(has('["\\\\",1,2]', 2)).toBe(true);
});
