import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { createPeerClaims } from './peer-claim.ts';

const secret = 'a secret between regions, long enough too';
const about = { to: 'eu', method: 'POST', path: '/api/send?x=1' };
const claim = { from: 'us', address: '2001:db8::1', ageMs: 1_500 };
let nowMs = Date.parse('2026-06-10T10:00:00Z');
const claims = createPeerClaims(secret, () => nowMs);
const header = claims.sign(claim, about);
const signed = { ...claim, signedAtMs: nowMs };

test('what a region says of a request is believed by the region that it is for', () => {
  expect(claims.verify(header, about)).toEqual(signed);
  expect(createPeerClaims(secret, () => nowMs).verify(claims.sign({ ...claim, address: '' }, about), about)).toEqual({
    ...signed,
    address: '',
  });
});

test.each([
  ['another region', { ...about, to: 'us' }],
  ['another method', { ...about, method: 'GET' }],
  ['another path', { ...about, path: '/api/batch' }],
])('it is not believed for %s', (_name, other) => {
  expect(claims.verify(header, other)).toBeNull();
});

/** A header with these fields, whatever they are. */
function signedBy(fields: unknown[]): string {
  const key = createHmac('sha256', secret).update('peer claim').digest();
  const text = [...fields, about.to, about.method, about.path].join('\n');
  return [...fields, createHmac('sha256', key).update(text).digest('base64url')].join(',');
}

test('what a later version says besides is left aside, and less than there is now is nothing', () => {
  const fields = [claim.from, nowMs, claim.ageMs, claim.address];
  expect(signedBy(fields)).toBe(header);
  expect(claims.verify(signedBy([...fields, 'more', '']), about)).toEqual(signed);
  expect(claims.verify(signedBy(fields.slice(0, 3)), about)).toBeNull();
});

test.each([
  ['at', 'later', 0],
  ['at', '', 0],
  ['age', nowMs, 'old'],
  ['age', nowMs, -1],
  ['age', nowMs, 'Infinity'],
])('an %s that is no time is not believed, though it is signed: %s, %s', (_name, at, age) => {
  expect(claims.verify(signedBy([claim.from, at, age, claim.address]), about)).toBeNull();
});

test('nothing of it can be changed, nor made without the secret', () => {
  const fields = header.split(',');
  for (const [i, value] of [['eu'], ['0'], ['0'], ['203.0.113.9'], [`${fields[4]?.slice(0, -1)}`]].entries()) {
    const changed = fields.with(i, value[0] ?? '');
    expect(claims.verify(changed.join(','), about)).toBeNull();
  }
  expect(createPeerClaims(`${secret}!`, () => nowMs).verify(header, about)).toBeNull();
  for (const nonsense of [
    undefined,
    '',
    ',',
    'us',
    ',,,,',
    `${header},`,
    [header, header],
    header.replaceAll(',', ', '),
  ])
    expect(claims.verify(nonsense, about), String(nonsense)).toBeNull();
});

test('clocks of regions may differ by a quarter of an hour, and a header counts for no longer', () => {
  const signedAtMs = nowMs;
  for (const minutes of [-14, -10, 10, 14]) {
    nowMs = signedAtMs + minutes * 60_000;
    expect(claims.verify(header, about), `${minutes}`).toEqual(signed);
  }
  for (const minutes of [-16, 16]) {
    nowMs = signedAtMs + minutes * 60_000;
    expect(claims.verify(header, about), `${minutes}`).toBeNull();
  }
  nowMs = signedAtMs;
});
