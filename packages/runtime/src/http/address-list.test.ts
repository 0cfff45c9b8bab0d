import { expect, test } from 'vitest';
import { createAddressList } from './address-list.ts';

const list = createAddressList(['10.0.0.0/8', '127.0.0.1', '2001:db8::/32', '::1']);

test.each(['10.0.0.0', '10.255.255.255', '127.0.0.1', '2001:db8:ffff::1', '::1'])('%s is listed', (address) => {
  expect([list(address), list(address)]).toEqual([true, true]);
});

test.each(['11.0.0.0', '127.0.0.2', '2001:db9::1', '::2', '0.0.0.1'])('%s is not', (address) => {
  expect([list(address), list(address)]).toEqual([false, false]);
});

test('an empty list holds nothing, /0 holds every address of its kind', () => {
  expect(createAddressList([])('10.0.0.1')).toBe(false);
  expect(createAddressList(['0.0.0.0/0'])('203.0.113.7')).toBe(true);
  expect(createAddressList(['0.0.0.0/0'])('2001:db8::1')).toBe(false);
});

test.each(['', 'localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/x', '2001:db8::/129', '10.0/8'])(
  '%j is refused by name',
  (entry) => {
    expect(() => createAddressList([entry])).toThrow(`"${entry}"`);
  },
);
