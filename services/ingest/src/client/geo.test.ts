import type { Response } from 'mmdb-lib';
import { expect, test } from 'vitest';
import { createPlaceFinder, nowhere, openGeo } from './geo.ts';

const placeIn = (record: unknown) => createPlaceFinder(() => record as Response)('203.0.113.7');

test.each([
  [{ country_code: 'DE' }, { country: 'DE', region: '', city: '' }],
  [
    { country_code: 'US', state1: 'California', city: 'San Jose' },
    { country: 'US', region: 'California', city: 'San Jose' },
  ],
  [
    {
      country: { iso_code: 'US' },
      subdivisions: [{ iso_code: 'CA', names: { en: 'California' } }],
      city: { names: { en: 'San Jose', de: 'San José' } },
    },
    { country: 'US', region: 'US-CA', city: 'San Jose' },
  ],
  [
    { country: { iso_code: 'SG' }, subdivisions: [{ names: { en: 'Central' } }] },
    { country: 'SG', region: 'Central', city: '' },
  ],
  [
    { country: { iso_code: 'AT' }, subdivisions: [{ names: { de: 'Wien' } }], city: { names: { de: 'Wien' } } },
    { country: 'AT', region: 'Wien', city: 'Wien' },
  ],
  [
    { country: { iso_code: 'DE' }, city: {} },
    { country: 'DE', region: '', city: '' },
  ],
  [{ continent: { code: 'EU' } }, { country: '', region: '', city: '' }],
  [null, nowhere],
])('a record %j is the place %j', (record, place) => {
  expect(placeIn(record)).toEqual(place);
});

test('an address that the file cannot look up is nowhere', () => {
  const find = createPlaceFinder(() => {
    throw new Error('not an address');
  });
  expect(find('')).toEqual(nowhere);
});

test('an address is looked up once', () => {
  let lookups = 0;
  const find = createPlaceFinder(() => {
    lookups++;
    return null;
  });
  find('203.0.113.7');
  find('203.0.113.7');
  expect(lookups).toBe(1);
});

test('the country file that comes along knows IPv4 and IPv6 addresses, and private ones are nowhere', async () => {
  const find = await openGeo();
  expect(find('8.8.8.8').country).toBe('US');
  expect(find('2001:4860:4860::8888').country).toBe('US');
  const unroutable = ['127.0.0.1', '10.0.0.1', '172.16.0.1', '192.168.1.1', '203.0.113.7', '::1', 'fd00::1', ''];
  for (const address of unroutable) expect(find(address), address).toEqual(nowhere);
});
