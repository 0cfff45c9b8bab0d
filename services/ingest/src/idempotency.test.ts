import { expect, test } from 'vitest';
import { identityHeader, identityOf, readIdempotencyKey, toIdempotency, writeIdentity } from './idempotency.ts';

test.each([
  [undefined, undefined],
  ['', undefined],
  ['a', 'a'],
  ['~!x', '~!x'],
  ['x'.repeat(200), 'x'.repeat(200)],
  ['x'.repeat(201), null],
  ['a b', null],
  ['é', null],
])('the header %j is the key %j', (header, key) => {
  expect(readIdempotencyKey(header)).toBe(key);
});

const body = Buffer.from('x');
const of = (given: Partial<Parameters<typeof identityOf>[0]>) =>
  identityOf({ key: 'k', request: { headers: {} }, isPeer: false, firstElement: null, body, ...given });

test('keys are kept apart by route and website, bodies by their hash', () => {
  const event = (website: unknown) => ({ payload: { website } });
  const keyOf = (route: 'send' | 'batch', firstElement: unknown) => {
    const identity = of({ firstElement });
    return identity && toIdempotency(route, identity, null).key;
  };
  const keys = [keyOf('send', event('W1')), keyOf('batch', event('w1')), keyOf('send', event('w2'))];
  expect([...keys, keyOf('send', event(5))]).toEqual(['send:w1:k', 'batch:w1:k', 'send:w2:k', 'send::k']);
  for (const odd of [undefined, null, 5, [], { payload: null }]) expect(keyOf('batch', odd)).toBe('batch::k');
  expect(of({ body: Buffer.from('y') })?.bodyHash).not.toBe(of({})?.bodyHash);
  expect(of({ key: undefined })).toBeUndefined();
});

test('the identity of a whole request is told to another region, and believed from its collector alone', () => {
  for (const website of ['w1', '', 'ü,\n😀', '\ud800']) {
    const whole = of({ firstElement: { payload: { website } }, body: Buffer.from('whole') });
    if (!whole) throw new Error('no identity');
    const headers = { [identityHeader]: writeIdentity(whole) };
    expect(headers[identityHeader]).toMatch(/^[!-~]+$/);
    expect(of({ request: { url: '/api/send', headers }, isPeer: true })).toEqual(whole);
    expect(of({ request: { url: '/api/send', headers } })).toEqual(of({}));
    expect(of({ request: { url: '/v1/eu/send', headers }, isPeer: true })).toEqual(of({}));
  }
  for (const nonsense of ['', ',', 'x'])
    expect(of({ request: { url: '/api/send', headers: { [identityHeader]: nonsense } }, isPeer: true })).toEqual(
      of({}),
    );
});
