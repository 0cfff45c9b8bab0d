import { expect, test } from 'vitest';
import { decoyHash, hashPassword, verifyPassword } from './passwords.ts';

test('a password is proved by itself only, and two hashes of it differ', async () => {
  const hash = await hashPassword('correct horse');
  expect(await verifyPassword(hash, 'correct horse')).toBe(true);
  expect(await verifyPassword(hash, 'Correct horse')).toBe(false);
  expect(await hashPassword('correct horse')).not.toBe(hash);
});

test('without a hash no password is right, after the same work as with one', async () => {
  expect(await verifyPassword(undefined, '')).toBe(false);
  const costOf = (hash: string) => hash.split('$').slice(0, 4);
  expect(costOf(decoyHash)).toEqual(costOf(await hashPassword('x')));
});
