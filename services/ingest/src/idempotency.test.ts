import { expect, test } from 'vitest';
import { readIdempotencyKey, toIdempotency } from './idempotency.ts';

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

test('keys are kept apart by route and website, bodies by their hash', () => {
  const of = (route: 'send' | 'batch', firstElement: unknown, body = 'x') =>
    toIdempotency({ route, key: 'k', firstElement, body: Buffer.from(body), draft: { a: 1 } });
  const event = (website: unknown) => ({ payload: { website } });
  const keys = [of('send', event('W1')), of('batch', event('w1')), of('send', event('w2')), of('send', event(5))].map(
    ({ key }) => key,
  );
  expect(keys).toEqual(['send:w1:k', 'batch:w1:k', 'send:w2:k', 'send::k']);
  for (const odd of [undefined, null, 5, [], { payload: null }]) expect(of('batch', odd).key).toBe('batch::k');
  expect(of('send', null, 'x').bodyHash).not.toBe(of('send', null, 'y').bodyHash);
  expect(of('send', null).draft).toBe('{"a":1}');
});
