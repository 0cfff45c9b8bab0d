import { expect, test } from 'vitest';
import { addressList, ProxySettings } from './proxy-settings.ts';

test('addresses and ranges are separated by commas, blanks do not count', () => {
  expect(addressList.parse(' 10.0.0.0/8,, ::1 ,2001:db8::/32,')).toEqual(['10.0.0.0/8', '::1', '2001:db8::/32']);
  expect(addressList.parse(undefined)).toEqual([]);
});

test('every entry that is none is named', () => {
  const { error } = addressList.safeParse('proxy.example, 10.0.0.1, 10.0.0.0/99');
  expect(error?.issues.map((issue) => issue.message)).toEqual([
    '"proxy.example" is no address and no CIDR range',
    '"10.0.0.0/99" is no address and no CIDR range',
  ]);
});

test('CLIENT_IP_HEADER is the name of one header', () => {
  expect(ProxySettings.parse({ CLIENT_IP_HEADER: 'CF-Connecting-IP' }).CLIENT_IP_HEADER).toBe('CF-Connecting-IP');
  for (const name of ['X-Real-IP, X-Client-IP', 'X-Real-IP:', 'X Real IP'])
    expect(ProxySettings.safeParse({ CLIENT_IP_HEADER: name }).success, name).toBe(false);
});
