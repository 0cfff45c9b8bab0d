import { expect, test } from 'vitest';
import { toBatchElements } from './batch-elements.ts';

const [a, b] = [{ type: 'event' }, null];

test.each([
  [[], []],
  [{}, []],
  [
    [a, b],
    [a, b],
  ],
  [{ 0: a, 1: b }, [a, b]],
  [{ 1: b, 0: a }, [a, b]],
  [{ events: [a, b] }, [a, b]],
  [{ events: [a], source: 'mcp' }, [a]],
  [Object.fromEntries(Array.from({ length: 12 }, (_, i) => [i, i])), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
])('%j are the events %j', (body, elements) => {
  expect(toBatchElements(body)).toEqual(elements);
});

test.each([null, true, 5, 'x', { list: [a] }, { 1: a }, { 0: a, 2: b }, { '00': a }, { events: a }, { 0: a, x: 1 }, a])(
  '%j is no batch',
  (body) => {
    expect(toBatchElements(body)).toBeNull();
  },
);
