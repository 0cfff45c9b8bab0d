import { createHmac, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createHmacSha256 } from './hmac.ts';

test.each([0, 1, 32, 63, 64, 65, 200])('with a key of %i bytes it is HMAC-SHA-256', (keyLength) => {
  const key = randomBytes(keyLength);
  const hmac = createHmacSha256(key);
  for (const length of [0, 1, 55, 56, 64, 75, 500, 1_024, 3]) {
    const message = randomBytes(length);
    expect(hmac(message.toString('latin1'))).toBe(createHmac('sha256', key).update(message).digest('base64url'));
  }
});

test('a longer message is refused', () => {
  expect(() => createHmacSha256(randomBytes(32))('x'.repeat(1_025))).toThrow(RangeError);
});
