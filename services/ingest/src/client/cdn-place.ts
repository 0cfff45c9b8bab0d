import type { IncomingHttpHeaders } from 'node:http';
import { textLimits } from '@meridian/contract/collect';
import { decodeText } from '@meridian/contract/percent-decode';
import { cutText } from '@meridian/contract/text';
import { storableText } from '../event/storable.ts';
import type { Place } from './geo.ts';

/** Headers in which content networks tell the visitor's country, region and city. */
const networks = [
  ['cf-ipcountry', 'cf-region-code', 'cf-ipcity'],
  ['x-vercel-ip-country', 'x-vercel-ip-country-region', 'x-vercel-ip-city'],
  ['cloudfront-viewer-country', 'cloudfront-viewer-country-region', 'cloudfront-viewer-city'],
] as const;

/** What nobody but a content network in front of us may say. */
export const cdnHeaders: readonly string[] = networks.flat();

const countryCode = /^[A-Z]{2}$/;
/** Cloudflare's "unknown"; its code for Tor, T1, is no country code anyway. */
const unknownCountry = 'XX';

/** The place that a content network names, null when none does. Only for requests of a trusted proxy. */
export function cdnPlace(headers: IncomingHttpHeaders): Place | null {
  for (const [countryHeader, regionHeader, cityHeader] of networks) {
    const country = String(headers[countryHeader] ?? '');
    if (!countryCode.test(country) || country === unknownCountry) continue;
    const region = headerText(headers[regionHeader]);
    return { country, region: region && `${country}-${region}`, city: headerText(headers[cityHeader]) };
  }
  return null;
}

/** Some send names percent-encoded, some as bare UTF-8, which node:http reads as Latin-1. */
function headerText(value: string | string[] | undefined): string {
  if (value === undefined) return '';
  return cutText(storableText(decodeText(Buffer.from(String(value), 'latin1').toString('utf8'))), textLimits.client);
}
