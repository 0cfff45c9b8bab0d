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
const text = tokens.sign(token, token);

test('a token comes back as it was signed, with any id', () => {
  expect(tokens.verify(text, now)).toEqual(token);
  for (const distinctId of ['u1', 'użytkownik 购', '😀'.repeat(100), '购'.repeat(200)])
    expect(tokens.verify(tokens.sign({ ...token, distinctId }, token), now)).toEqual({ ...token, distinctId });
});

test('it is short and fits a header', () => {
  expect(text).toMatch(/^[\w.-]+$/);
  expect(text.length).toBeLessThan(180);
});

test('after a change of the secret what an older one signed still counts, and nothing else is signed by it', () => {
  const [next, afterNext] = ['the next secret of at least 32 bytes', 'the secret after that of 32 bytes'];
  const rotated = createCacheTokens(afterNext, [next, secret]);
  expect(rotated.verify(text, now)).toEqual(token);
  const fresh = rotated.sign(token, token);
  expect(createCacheTokens(afterNext).verify(fresh, now)).toEqual(token);
  expect([tokens.verify(fresh, now), createCacheTokens(next).verify(fresh, now)]).toEqual([null, null]);
  expect(createCacheTokens(afterNext, [next]).verify(text, now)).toBeNull();
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
  [createCacheTokens('another secret of at least 32 bytes..').sign(token, token)],
  ['eyJhbGciOiJub25lIn0.eyJ3ZWJzaXRlSWQiOiIwMTk4YzZhMi0zYzFlLTdhNTUtOGYwMC05YjFjMmQzZTRmNTAiLCJzZXNzaW9uSWQiOiJ4In0.'],
])('%s is no token', (forged) => {
  expect(tokens.verify(forged, now)).toBeNull();
});

test('no changed, missing or added character is accepted', () => {
  const identified = tokens.sign({ ...token, distinctId: 'u1' }, token);
  for (let i = 0; i < identified.length; i++) {
    const [before, after] = [identified.slice(0, i), identified.slice(i + 1)];
    for (const changed of [
      `${before}0${after}`,
      `${before}1${after}`,
      before + after,
      `${before}.${identified.slice(i)}`,
    ])
      expect(changed === identified ? null : tokens.verify(changed, now), changed).toBeNull();
  }
});

test('no text makes it throw', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 1_000 }), (odd) => {
      expect(tokens.verify(odd, now)).toBeNull();
    }),
  );
});
