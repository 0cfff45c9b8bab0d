import { expect, test } from 'vitest';
import { fitsParameter, toParameterText } from './parameter-text.ts';

test('what ends a field or a string in ClickHouse is escaped, all else stays as it is', () => {
  expect(toParameterText("a'b\\c\td\ne\rf")).toBe(String.raw`a\'b\\c\td\ne\rf`);
  expect(toParameterText('"%_{}[](),;--\0 é 日本 🎉')).toBe('"%_{}[](),;--\0 é 日本 🎉');
  expect(toParameterText('')).toBe('');
});

test('numbers are written as they are', () => {
  expect([0, -1, 1_750_000_000_000].map(toParameterText)).toEqual(['0', '-1', '1750000000000']);
});

test('lists hold quoted strings or plain numbers', () => {
  expect(toParameterText([])).toBe('[]');
  expect(toParameterText([''])).toBe("['']");
  expect(toParameterText(["it's", 'a,b', ']', '\\'])).toBe(String.raw`['it\'s','a,b',']','\\']`);
  expect(toParameterText([1, -2])).toBe('[1,-2]');
});

test('half a character, which UTF-8 cannot hold, is U+FFFD', () => {
  expect(toParameterText('a\ud800b')).toBe('a\ufffdb');
});

test('a list is too long for a parameter by what is written of it, escapes included', () => {
  const list = (text: string) => Array.from({ length: 200 }, () => text.repeat(500));
  expect([fitsParameter([]), fitsParameter(list('a')), fitsParameter(list("'"))]).toEqual([true, true, false]);
});
