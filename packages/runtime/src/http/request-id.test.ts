import { expect, test } from 'vitest';
import { createRequestIds } from './request-id.ts';

const requestId = createRequestIds();

test('a usable id of the client is taken over', () => {
  expect(requestId('my-id.42')).toBe('my-id.42');
  expect(requestId('x'.repeat(128))).toBe('x'.repeat(128));
});

test.each([undefined, '', 'x'.repeat(129), 'a b', 'a\tb', 'café', ['a', 'b']])('%j is replaced', (given) => {
  const made = requestId(given);
  expect(made).toMatch(/^[\x21-\x7e]{1,128}$/);
  expect(made).not.toBe(given);
});

test('no two made ids are the same, in one process or in two', () => {
  const other = createRequestIds();
  const made = Array.from({ length: 1_000 }, () => [requestId(undefined), other(undefined)]).flat();
  expect(new Set(made).size).toBe(2_000);
});
