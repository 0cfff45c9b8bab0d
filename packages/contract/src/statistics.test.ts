import { expect, test } from 'vitest';
import { filterNameOf } from './statistics.ts';

test.each([
  ['path', 'path'],
  ['path12', 'path'],
  ['url2', 'path'],
  ['utm_source1', 'utmSource'],
  ['path1x', null],
  ['1path', null],
  ['1', null],
  ['', null],
  ['__proto__', null],
])('the filter of the key %s is %s', (key, name) => {
  expect(filterNameOf(key)).toBe(name);
});

test('a key of half a million digits is looked through once, not once from each digit on, which takes minutes', () => {
  const digits = '1'.repeat(500_000);
  expect(filterNameOf(`${digits}x`)).toBeNull();
  expect(filterNameOf(`path${digits}`)).toBe('path');
});
