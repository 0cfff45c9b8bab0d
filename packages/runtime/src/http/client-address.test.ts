import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { createClientAddresses } from './client-address.ts';

const request = (remoteAddress: string | undefined, headers: Record<string, string> = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage;

const direct = createClientAddresses({ trustedProxies: [] });
const proxied = createClientAddresses({ trustedProxies: ['127.0.0.1', '10.0.0.0/8'] });
const behind = (forwarded: string) => proxied(request('127.0.0.1', { 'x-forwarded-for': forwarded })).address;

const forged = ['x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip'];

test('from an untrusted socket no header is believed', () => {
  for (const header of forged) {
    expect(direct(request('198.51.100.9', { [header]: '203.0.113.7' }))).toEqual({
      address: '198.51.100.9',
      isProxyTrusted: false,
    });
  }
  expect(direct(request('198.51.100.9', { forwarded: 'for=203.0.113.7' })).address).toBe('198.51.100.9');
});

test('the socket address is normalised, and may be missing', () => {
  expect(direct(request('::ffff:198.51.100.9')).address).toBe('198.51.100.9');
  expect(direct(request('fe80::1%eth0')).address).toBe('fe80::1');
  expect(direct(request(undefined))).toEqual({ address: '', isProxyTrusted: false });
  expect(proxied(request('::ffff:127.0.0.1')).isProxyTrusted).toBe(true);
});

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['192.0.2.1, 203.0.113.7', '203.0.113.7'],
  ['203.0.113.7, 10.0.0.5', '203.0.113.7'],
  ['192.0.2.1, 203.0.113.7, 10.0.0.5, 10.1.1.1', '203.0.113.7'],
  ['10.0.0.9, 10.0.0.5', '10.0.0.9'],
  ['203.0.113.7:4711', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['[2001:DB8:0:0::1]:443', '2001:db8::1'],
  ['203.0.113.7, , ', '203.0.113.7'],
  // Nothing usable: the proxy's own address.
  ['', '127.0.0.1'],
  [',,,', '127.0.0.1'],
  ['unknown', '127.0.0.1'],
  ['203.0.113.7, unknown', '127.0.0.1'],
  ['203.0.113.7, 999.1.1.1, 10.0.0.5', '127.0.0.1'],
])('X-Forwarded-For "%s" behind a trusted proxy is %s', (forwarded, address) => {
  expect(behind(forwarded)).toBe(address);
});

test('a chain of thousands is read from its near end', () => {
  const chain = (entry: string, length: number) => Array<string>(length).fill(entry).join(', ');
  expect(behind(`${chain('1.1.1.1', 10_000)}, 203.0.113.7, 10.0.0.5`)).toBe('203.0.113.7');
  expect(behind(`203.0.113.7, ${chain('10.0.0.5', 10_000)}`)).toBe('203.0.113.7');
  expect(behind(`${chain('1.1.1.1', 10_000)}, unknown`)).toBe('127.0.0.1');
});

test.each([
  ['for=203.0.113.7', '203.0.113.7'],
  ['For="[2001:db8::1]:4711";proto=https', '2001:db8::1'],
  ['for=192.0.2.1, proto=https;for=203.0.113.7;by=10.0.0.1, for=10.0.0.5', '203.0.113.7'],
  ['for=192.0.2.1;host="a,for=6.6.6.6;b", for=203.0.113.7;host="x,for=6.6.6.6"', '203.0.113.7'],
  ['for="203.0.113.7:_port", for="10.0.0.5"', '203.0.113.7'],
  ['for=_hidden', '127.0.0.1'],
  ['for=203.0.113.7, for=unknown', '127.0.0.1'],
  // A proxy of ours that does not say who came to it: what stands before may be the client's own word.
  ['for=6.6.6.6, proto=https', '127.0.0.1'],
  ['proto=https', '127.0.0.1'],
])('Forwarded "%s" behind a trusted proxy is %s', (forwarded, address) => {
  expect(proxied(request('127.0.0.1', { forwarded })).address).toBe(address);
});

test('X-Forwarded-For counts before Forwarded', () => {
  const headers = { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=192.0.2.1' };
  expect(proxied(request('127.0.0.1', headers)).address).toBe('203.0.113.7');
});

test('other address headers of a trusted proxy are ignored unless one is named', () => {
  for (const header of ['x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip', 'fastly-client-ip'])
    expect(proxied(request('127.0.0.1', { [header]: '203.0.113.7' })).address, header).toBe('127.0.0.1');
});

const namedBy = (clientIpHeader: string) => createClientAddresses({ trustedProxies: ['127.0.0.1'], clientIpHeader });

test('a header that is named is the only one, and only from a trusted proxy', () => {
  const headers = { 'cf-connecting-ip': '203.0.113.7', 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.1' };
  const named = namedBy('CF-Connecting-IP');
  expect(named(request('127.0.0.1', headers)).address).toBe('203.0.113.7');
  expect(named(request('198.51.100.9', headers)).address).toBe('198.51.100.9');
  expect(named(request('127.0.0.1', { 'x-forwarded-for': '192.0.2.1' })).address).toBe('127.0.0.1');
});

test.each([
  ['X-Real-IP', '[2001:DB8::1]:443', '2001:db8::1'],
  ['X-Real-IP', 'garbage', '127.0.0.1'],
  ['X-Real-IP', '', '127.0.0.1'],
  // Sent twice: the nearer one, which the proxy wrote.
  ['X-Real-IP', '6.6.6.6, 203.0.113.7', '203.0.113.7'],
  ['X-Forwarded-For', '6.6.6.6, 203.0.113.7, 127.0.0.1', '203.0.113.7'],
  ['Forwarded', 'for=6.6.6.6, for=203.0.113.7', '203.0.113.7'],
])('%s, named and "%s", is %s', (header, value, address) => {
  expect(namedBy(header)(request('127.0.0.1', { [header.toLowerCase()]: value })).address).toBe(address);
});
