import { expect, test } from 'vitest';
import { apiKeyPrefix, hashApiKey, isApiKey, newApiKey, randomAlphanumerics } from './api-key.ts';

test('a key is mrd_ and 32 letters and digits, of which the prefix shows few', () => {
  const key = newApiKey();
  expect(key).toMatch(/^mrd_[A-Za-z0-9]{32}$/);
  expect(isApiKey(key)).toBe(true);
  expect(key.startsWith(apiKeyPrefix(key))).toBe(true);
  expect(apiKeyPrefix(key).length).toBeLessThan(key.length / 2);
});

test('a part, an extension and another spelling of a key have another hash', () => {
  const key = newApiKey();
  const others = [key.slice(0, -1), `${key}x`, key.toUpperCase(), key.toLowerCase()].filter((text) => text !== key);
  for (const other of others) expect(hashApiKey(other).equals(hashApiKey(key))).toBe(false);
});

test('every letter and digit is as likely as any other', () => {
  const drawn = 620_000;
  const counts = new Map<string, number>();
  for (const letter of randomAlphanumerics(drawn)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  expect(counts.size).toBe(62);
  // 10,000 of each expected, standard deviation about 100; a biased draw would give some 12,100.
  for (const count of counts.values()) expect(Math.abs(count - 10_000)).toBeLessThan(800);
});
