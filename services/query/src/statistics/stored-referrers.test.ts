import { expect, test } from 'vitest';
import { storedReferrers } from './stored-referrers.ts';

test.each([
  ['ref.example', ['ref.example']],
  ['WWW.Ref.Example', ['ref.example']],
  ['münchen.de', ['xn--mnchen-3ya.de']],
  ['www.münchen.de', ['xn--mnchen-3ya.de']],
  ['xn--mnchen-3ya.de', ['xn--mnchen-3ya.de']],
  ['192.0.2.1', ['192.0.2.1']],
  ['[2001:db8::1]', ['[2001:db8::1]']],
  ['https://www.REF.example:8443/x?z=2', ['ref.example/x']],
  ['https://user:pw@ref.example/x#y', ['ref.example/x#y']],
  ['ref.example:8443', ['ref.example']],
  ['http://ref.example', ['ref.example']],
  ['http://ref.example?z=2', ['ref.example']],
  ['http://ref.example/', ['ref.example/']],
  ['http://ref.example/?z=2', ['ref.example/']],
  ['https://münchen.de/stadt', ['xn--mnchen-3ya.de/stadt']],
  ['android-app://com.app/x', ['com.app/x']],
  ['https://a.example/a/../b', ['a.example/a/../b']],
  ['https://a.example/a b', ['a.example/a b']],
])('%s means %j', (value, stored) => {
  expect(storedReferrers(value)).toEqual(stored);
});

test('an encoded path is the one that it was decoded to, and the one that the log shows', () => {
  expect(storedReferrers('https://a.example/%E9/caf%C3%A9')).toEqual(['a.example/%E9/café', 'a.example/%E9/caf%C3%A9']);
  expect(storedReferrers('https://a.example/%E9/café')).toEqual(['a.example/%E9/café']);
  expect(storedReferrers('https://a.example/100%25')).toEqual(['a.example/100%', 'a.example/100%25']);
});

test('a path is cut as it is when it is stored', () => {
  expect(storedReferrers(`https://a.example/${'x'.repeat(5_000)}`)[0]).toBe(`a.example/${'x'.repeat(1_999)}`);
});

test.each([
  ...[
    'not a domain',
    '/x',
    'ref.example/x',
    'ref.example?x',
    'ref.example#x',
    'ref.example\\x',
    'https://',
    'https:/x',
  ],
  ...['https://a b/x', 'https:///x', 'ref.example\0', 'https://ref.example/\0x', `${'a'.repeat(300)}.example`],
])('%j can be no referrer', (value) => {
  expect(storedReferrers(value)).toEqual([]);
});
