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

  test('where both differ: the session token on self-hosted, the key of x-umami-api-key otherwise', () => {
    expect(read(`Bearer ${token}`, key)).toEqual(bySession);
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
