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

test('a range may be written with its host bits, as IPv4-mapped IPv6, in brackets and in any letter case', () => {
  const spelled = createAddressList(['10.1.2.3/8', '::ffff:192.0.2.0/120', '::ffff:198.51.100.9', '[2001:DB8:1::]/48']);
  for (const address of ['10.255.0.1', '192.0.2.255', '198.51.100.9', '2001:db8:1:ffff::1'])
    expect(spelled(address), address).toBe(true);
  for (const address of ['192.0.3.0', '198.51.100.8', '2001:db8:2::1']) expect(spelled(address), address).toBe(false);
});

test('ranges that do not end on a byte are exact to the bit', () => {
  const exact = createAddressList(['203.0.113.64/27', '2001:db8::/33']);
  expect(['203.0.113.63', '203.0.113.64', '203.0.113.95', '203.0.113.96'].map(exact)).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect(['2001:db8:7fff::1', '2001:db8:8000::'].map(exact)).toEqual([true, false]);
});

test('what is no address is in no range', () => {
  for (const text of ['', 'unknown', '10.0.0', '10.0.0.1:80']) expect(list(text), text).toBe(false);
});

test.each([
  ...['', ' ', 'localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/x', '10.0.0.0/-1', '10.0.0.0/0x8'],
  ...['10.0.0.0/8.5', '2001:db8::/129', '10.0/8', '10.0.0.*', '10.0.0.1-10.0.0.9', '::ffff:10.0.0.0/95', 'fe80::/x'],
])('%j is refused by name', (entry) => {
  expect(() => createAddressList([entry])).toThrow(`"${entry}" is no address and no CIDR range`);
});
