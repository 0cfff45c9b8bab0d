import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CacheToken, createCacheTokens } from './cache-token.ts';

const secret = 'a secret of at least thirty-two bytes';
const tokens = createCacheTokens(secret);
const now = Date.parse('2026-06-10T10:00:00Z');
const token: CacheToken = {
  websiteId: '0198c6a2-3c1e-7a55-8f00-9b1c2d3e4f50',
  sessionId: '47b88b3f-cb65-5ff2-9b09-9c1d3e8f8c2a',
  visitId: '0198c6a2-4000-7abc-9def-001122334455',
  lastAtMs: now - 5,
  distinctId: '',
  issuedAtSeconds: now / 1_000,
};
const text = tokens.sign(token);

test('a token comes back as it was signed, with any id', () => {
  expect(tokens.verify(text, now)).toEqual(token);
  for (const distinctId of ['u1', 'użytkownik 购', '😀'.repeat(100), '购'.repeat(200)])
    expect(tokens.verify(tokens.sign({ ...token, distinctId }), now)).toEqual({ ...token, distinctId });
});

test('it is short and fits a header', () => {
  expect(text).toMatch(/^[A-Za-z0-9_-]{100}$/);
});

test('it expires after 24 hours', () => {
  expect(tokens.verify(text, now + 86_400_000)).not.toBeNull();
  expect(tokens.verify(text, now + 86_401_000)).toBeNull();
});

test.each([
  [undefined],
  [''],
  ['undefined'],
  ['a.b.c'],
  ['x'.repeat(6_000)],
  ['x'.repeat(100)],
  [`${text.slice(0, -3)}AAA`],
  [text.slice(0, -4)],
  [`${text}AAAA`],
  [createCacheTokens('another secret of at least 32 bytes..').sign(token)],
  ['eyJhbGciOiJub25lIn0.eyJ3ZWJzaXRlSWQiOiIwMTk4YzZhMi0zYzFlLTdhNTUtOGYwMC05YjFjMmQzZTRmNTAiLCJzZXNzaW9uSWQiOiJ4In0.'],
])('%s is no token', (forged) => {
  expect(tokens.verify(forged, now)).toBeNull();
});

test('no changed bit is accepted', () => {
  const bytes = Buffer.from(text, 'base64url');
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(tokens.verify(changed.toString('base64url'), now), `bit ${bit}`).toBeNull();
  }
});

test('no text makes it throw', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 1_000 }), (odd) => {
      expect(tokens.verify(odd, now)).toBeNull();
    }),
  );
});
