import { expect, test } from 'vitest';
import { cdnPlace } from './cdn-place.ts';

test.each([
  [{ 'cf-ipcountry': 'DE' }, { country: 'DE', region: '', city: '' }],
  [
    { 'cf-ipcountry': 'US', 'cf-region-code': 'CA', 'cf-ipcity': 'San Francisco' },
    { country: 'US', region: 'US-CA', city: 'San Francisco' },
  ],
  [
    { 'x-vercel-ip-country': 'BR', 'x-vercel-ip-country-region': 'SP', 'x-vercel-ip-city': 'S%C3%A3o%20Paulo' },
    { country: 'BR', region: 'BR-SP', city: 'São Paulo' },
  ],
  [
    { 'x-vercel-ip-country': 'GB', 'x-vercel-ip-city': 'King%27s%20Lynn%2C%20Norfolk+%26%2F%zz' },
    { country: 'GB', region: '', city: "King's Lynn, Norfolk+&/%zz" },
  ],
  [
    { 'cloudfront-viewer-country': 'FR', 'cloudfront-viewer-city': Buffer.from('Orléans').toString('latin1') },
    { country: 'FR', region: '', city: 'Orléans' },
  ],
])('%j', (headers, place) => {
  expect(cdnPlace(headers)).toEqual(place);
});

test.each([
  {},
  { 'cf-ipcountry': 'XX' },
  { 'cf-ipcountry': 'T1' },
  { 'cf-ipcountry': 'Germany' },
  { 'cf-ipcity': 'X' },
])('%j names no country', (headers) => {
  expect(cdnPlace(headers)).toBeNull();
});
