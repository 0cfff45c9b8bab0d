import * as argon2 from '@node-rs/argon2';
import { expect, test, vi } from 'vitest';
import {
  apiKeyPrefix,
  hashApiKey,
  hashPassword,
  isApiKey,
  newApiKey,
  newPassword,
  randomAlphanumerics,
  verifyPassword,
} from './credentials.ts';

vi.mock('@node-rs/argon2', { spy: true });

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

test('a password that is made is one of its own each time', () => {
  expect(newPassword()).toMatch(/^[A-Za-z0-9]{20}$/);
  expect(newPassword()).not.toBe(newPassword());
});

test('a password is proved by itself only, and two hashes of it differ', async () => {
  const hash = await hashPassword('correct horse');
  expect(await verifyPassword(hash, 'correct horse')).toBe(true);
  expect(await verifyPassword(hash, 'Correct horse')).toBe(false);
  expect(await hashPassword('correct horse')).not.toBe(hash);
});

test('without a hash no password is right, after the same work as with one', async () => {
  const stored = await hashPassword('x');
  const verify = vi.mocked(argon2.verify).mockClear();
  for (const hash of [undefined, stored]) expect(await verifyPassword(hash, 'wrong')).toBe(false);
  const costOf = (hash: unknown) => String(hash).split('$').slice(0, 4);
  const costs = verify.mock.calls.map(([hash]) => costOf(hash));
  expect(costs).toEqual([costOf(stored), costOf(stored)]);
});
