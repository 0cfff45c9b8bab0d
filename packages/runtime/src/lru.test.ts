import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Lru } from './lru.ts';

test('an entry that is used stays, one that is not makes room', () => {
  const lru = new Lru<string, number>(2);
  lru.set('used', 1);
  lru.set('unused', 2);
  for (let i = 0; i < 10; i++) {
    lru.set(`other ${i}`, i);
    expect(lru.get('used')).toBe(1);
  }
  expect(lru.get('unused')).toBeUndefined();
});

test('it holds at most twice its size', () => {
  const lru = new Lru<number, number>(100);
  for (let i = 0; i < 10_000; i++) lru.set(i, i);
  const kept = Array.from({ length: 10_000 }, (_, i) => i).filter((i) => lru.get(i) !== undefined);
  expect(kept.length).toBeLessThanOrEqual(200);
});

test('a deleted entry is gone from both generations, and null is a value', () => {
  const lru = new Lru<string, string | null>(1);
  lru.set('a', null);
  expect(lru.get('a')).toBeNull();
  lru.set('a', 'newer');
  lru.delete('a');
  expect(lru.get('a')).toBeUndefined();
});

test('a key that was cut out of a huge text does not keep the huge text in memory', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const lru = new Lru<string, number>(100);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 60; i++) lru.set(`${i} ${'x'.repeat(1_000)}`.padEnd(2_000_000, 'y').trim().slice(0, 500), i);
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
});
