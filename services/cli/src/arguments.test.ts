import { expect, test } from 'vitest';
import { parseFlag, parseListArguments, parseTarget } from './arguments.ts';
import { UsageError } from './usage.ts';

test('a list has a limit and a form', () => {
  expect(parseListArguments([])).toEqual({ limit: 50, json: false });
  expect(parseListArguments(['--json', '--limit', '7'])).toEqual({ limit: 7, json: true });
});

test.each([
  ['--limit', '0'],
  ['--limit', 'x'],
  ['--limit', '1.5'],
  ['--limit'],
  ['--limit', '10001'],
  ['id'],
  ['--al'],
])('a list is not asked for with %s %s', (...args) => {
  expect(() => parseListArguments(args)).toThrow(UsageError);
});

test('a target is one id, or all when that is said', () => {
  expect(parseTarget(['0:1-1'])).toEqual({ id: '0:1-1' });
  expect(parseTarget(['--all'])).toBe('all');
});

test.each([[], ['0:1-1', '--all'], ['0:1-1', '0:2-1'], ['--force', '0:1-1']])(
  'nothing is done to an unclear target: %s %s',
  (...args) => {
    expect(() => parseTarget(args)).toThrow(UsageError);
  },
);

test('a flag is off unless given, and no other is taken', () => {
  expect([parseFlag([], 'json'), parseFlag(['--json'], 'json')]).toEqual([false, true]);
  expect(() => parseFlag(['--jsn'], 'json')).toThrow(UsageError);
});
