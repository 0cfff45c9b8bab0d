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
  for (const address of ['127.0.0.1', '10.0.0.1', '::1', '']) expect(find(address), address).toEqual(nowhere);
});

test('a file that is missing stops the start', async () => {
  await expect(openGeo('/nowhere/city.mmdb')).rejects.toThrow('ENOENT');
});
