import { expect, test } from 'vitest';
import { forwardedClients } from './forwarded.ts';

test.each([
  ['', []],
  [' , ,', []],
  ['for=192.0.2.60;proto=http;by=203.0.113.43', ['192.0.2.60']],
  ['by=203.0.113.43 ; FOR = 192.0.2.60', ['192.0.2.60']],
  ['for=192.0.2.43, for="[2001:db8:cafe::17]:4711"', ['192.0.2.43', '[2001:db8:cafe::17]:4711']],
  ['for=unknown, for=_hidden, for="_SEVKISEK"', ['unknown', '_hidden', '_SEVKISEK']],
  ['for="192\\.0.2.60"', ['192.0.2.60']],
  ['proto=https', ['unknown']],
  ['for', ['unknown']],
  ['before=1.1.1.1', ['unknown']],
  ['for=1.1.1.1;for=2.2.2.2', ['1.1.1.1']],
  ['for=', ['unknown']],
  ['for=""', ['unknown']],
  // Commas and semicolons in quotes separate nothing, also behind an escaped quote.
  ['host="a, for=6.6.6.6;b";for=203.0.113.7', ['203.0.113.7']],
  ['host="a\\", for=6.6.6.6";for=203.0.113.7', ['203.0.113.7']],
  // A client cannot hide what its proxy appends by opening a quote, nor take a quote of the proxy to close it.
  ['for=6.6.6.6;x=", for=203.0.113.7', ['unknown']],
  ['for=6.6.6.6;x=", for=203.0.113.7;host="a\\"b"', ['unknown']],
  ['for=6.6.6.6;x=", for="[2001:db8::1]"', ['unknown']],
  ['for=6.6.6.6;x=", for="[2001:db8::1]";host=""', ['unknown']],
  ['for=203.0.113.7, host="x, for=6.6.6.6', ['203.0.113.7', 'unknown']],
  ['for=6.6.6.6 x, for=203.0.113.7', ['unknown', '203.0.113.7']],
  ['for=6.6.6.6"", for=203.0.113.7', ['unknown']],
])('%j names the clients %j', (header, clients) => {
  expect(forwardedClients(header)).toEqual(clients);
});

test.each([
  ',for=6.6.6.6',
  ';for=6.6.6.6',
  '",for=6.6.6.6',
  '\\",for=6.6.6.6,"',
  '"'.repeat(9),
  '\\'.repeat(9),
  '"\\'.repeat(9),
])('a host %j that a proxy quotes neither adds nor changes a client', (host) => {
  const quoted = `"${host.replaceAll(/["\\]/g, '\\$&')}"`;
  expect(forwardedClients(`for=192.0.2.1, host=${quoted};for=203.0.113.7`)).toEqual(['192.0.2.1', '203.0.113.7']);
});
