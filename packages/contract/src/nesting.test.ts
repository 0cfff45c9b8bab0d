import { expect, test } from 'vitest';
import { isDeeperThan } from './nesting.ts';

const nested = (open: string, close: string, depth: number) =>
  JSON.parse(`${open.repeat(depth)}1${close.repeat(depth)}`) as unknown;

test.each([
  ['{"a":', '}'],
  ['[', ']'],
])('levels of %s are counted exactly', (open, close) => {
  expect(isDeeperThan(nested(open, close, 32), 32)).toBe(false);
  expect(isDeeperThan(nested(open, close, 33), 32)).toBe(true);
});

test('the deepest branch counts, and tens of thousands of levels do not overflow the stack', () => {
  expect(isDeeperThan({ a: 1, b: null, c: [{}, { d: [] }] }, 4)).toBe(false);
  expect(isDeeperThan({ a: 1, b: null, c: [{}, { d: [] }] }, 3)).toBe(true);
  expect(isDeeperThan(nested('[', ']', 50_000), 32)).toBe(true);
});
