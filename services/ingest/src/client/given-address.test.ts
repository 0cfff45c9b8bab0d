import { expect, test } from 'vitest';
import { givenAddress } from './given-address.ts';

test('one address is taken as it is, of a forwarded list the first', () => {
  expect(givenAddress('203.0.113.5')).toBe('203.0.113.5');
  expect(givenAddress('203.0.113.5, 10.0.0.1')).toBe('203.0.113.5');
  expect(givenAddress(' 203.0.113.5:4711 ,10.0.0.1,10.0.0.2')).toBe('203.0.113.5');
  expect(givenAddress('2001:DB8:0::1, 203.0.113.5')).toBe('2001:db8::1');
  expect(givenAddress('::ffff:203.0.113.5,')).toBe('203.0.113.5');
  // Cut where texts of this field are.
  expect(givenAddress('2001:db8:1111:2222:3333:4444:5555:6666, 10.0.')).toBe('2001:db8:1111:2222:3333:4444:5555:6666');
});

test.each([
  '',
  ',',
  'unknown',
  'unknown, 203.0.113.5',
  ', 203.0.113.5',
  '203.0.113.5 10.0.0.1',
  '203.0.113.5;10.0.0.1',
])('no address: %s', (text) => {
  expect(givenAddress(text)).toBeNull();
});
