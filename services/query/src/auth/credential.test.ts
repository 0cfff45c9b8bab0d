import { newApiKey } from '@meridian/registry/credentials';
import { describe, expect, test } from 'vitest';
import { readCredential } from './credential.ts';

const key = newApiKey();
const otherKey = newApiKey();
const token = 'header.claims.signature';
const byKey = { kind: 'api-key', key };
const bySession = { kind: 'session', token };

const read = (authorization?: string, apiKey?: string, mode: 'self-hosted' | 'cloud' = 'self-hosted') =>
  readCredential({ authorization, apiKey }, mode);

describe('a credential', () => {
  test.each(['Bearer', 'bearer', 'BEARER', 'Bearer '])('is read after the scheme %j', (scheme) => {
    expect(read(`${scheme} ${key}`)).toEqual(byKey);
    expect(read(`${scheme} ${token}`)).toEqual(bySession);
  });

  test('is a key in x-umami-api-key, alone, beside the same bearer and beside what means nothing', () => {
    for (const bearer of [
      undefined,
      '',
      `Bearer ${key}`,
      'Bearer undefined',
      'Bearer null',
      'Bearer None',
      'Basic eDp5',
    ])
      expect(read(bearer, key)).toEqual(byKey);
    for (const nothing of ['', 'undefined', 'null', 'None']) expect(read(`Bearer ${key}`, nothing)).toEqual(byKey);
  });

  test('where both differ: the session token on self-hosted, which the key may stand in for; the key of x-umami-api-key otherwise', () => {
    expect(read(`Bearer ${token}`, key)).toEqual({ ...bySession, key });
    expect(read(`Bearer ${token}`, key, 'cloud')).toEqual(byKey);
    expect(read(`Bearer ${otherKey}`, key)).toEqual(byKey);
  });

  test('on cloud a session token is none', () => {
    expect(read(`Bearer ${token}`, undefined, 'cloud')).toBeNull();
  });
});

test.each([
  '',
  'Bearer',
  'Bearer ',
  'Bearer undefined',
  'Bearer None',
  'Basic eDp5',
  `Token ${key}`,
  key,
  `Bearer ${key} ${key}`,
  `Bearer ${key}, Bearer ${key}`,
  `Bearer ${key}x`,
  `Bearer ${key.slice(0, -1)}`,
  `Bearer ${'x'.repeat(5000)}`,
  `Bearer a.b.${'c'.repeat(5000)}`,
])('%j is no credential', (authorization) => {
  expect(read(authorization)).toBeNull();
});

test('what x-umami-api-key holds must be a key', () => {
  expect(read(undefined, 'wrong')).toBeNull();
  expect(read(undefined, token)).toBeNull();
  expect(read(undefined, `${key}\n`)).toBeNull();
});

describe('the token of a share link', () => {
  const link = 'link.claims.signature';
  const byLink = { kind: 'share', token: link };
  const readBoth = (authorization?: string, shareToken?: string, shareContext?: string) =>
    readCredential({ authorization, apiKey: undefined, shareToken, shareContext }, 'self-hosted');

  test('is read from its own header, on cloud as well, alone and beside what is no credential', () => {
    for (const bearer of [undefined, '', 'Bearer undefined', 'Bearer wrong', 'Basic eDp5'])
      for (const context of [undefined, '', '1', 'true']) expect(readBoth(bearer, link, context)).toEqual(byLink);
    const headers = { authorization: undefined, apiKey: undefined, shareToken: link };
    expect(readCredential(headers, 'cloud')).toEqual(byLink);
  });

  test('gives way to an account, unless the page of the link asks', () => {
    expect([readBoth(`Bearer ${key}`, link), readBoth(`Bearer ${token}`, link, '')]).toEqual([byKey, bySession]);
    expect([readBoth(`Bearer ${key}`, link, '1'), readBoth(`Bearer ${token}`, link, '1')]).toEqual([byLink, byLink]);
  });

  test.each([undefined, '', 'undefined', 'my-link', key, 'a.b', `a.b.${'c'.repeat(5000)}`])('%j is none', (text) => {
    expect(readBoth(undefined, text, '1')).toBeNull();
    expect(readBoth(`Bearer ${key}`, text, '1')).toEqual(byKey);
  });
});
