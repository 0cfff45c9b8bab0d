import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Lru } from '@meridian/runtime/lru';
import { Reader, type Response } from 'mmdb-lib';

/** Where an address is as far as the file tells; '' = unknown. */
export type Place = {
  /** ISO 3166-1 alpha-2. */
  country: string;
  /** ISO 3166-2 (`US-CA`) where the file has codes, else the name that it has. */
  region: string;
  city: string;
};

export const nowhere: Readonly<Place> = Object.freeze({ country: '', region: '', city: '' });

const rememberedAddresses = 20_000;
const rememberedRecords = 5_000;
const defaultFile = '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb';

/**
 * Opens a file in MaxMind's format (GeoLite2, GeoIP2, DB-IP, ip-location-db), by default a country file with an open
 * licence that comes as a dependency. The whole file is kept in memory. Rejects when it cannot be read.
 */
export async function openGeo(file?: string): Promise<(address: string) => Readonly<Place>> {
  const path = file ?? createRequire(import.meta.url).resolve(defaultFile);
  const records = new Lru<string | number, NonNullable<unknown>>(rememberedRecords);
  const reader = new Reader(await readFile(path), {
    cache: { get: (key) => records.get(key), set: (key, value) => records.set(key, value) },
  });
  return createPlaceFinder((address) => reader.get(address));
}

/** Remembers the place of each address. An address that `findRecord` cannot read is nowhere. */
export function createPlaceFinder(findRecord: (address: string) => Response | null) {
  const places = new Lru<string, Readonly<Place>>(rememberedAddresses);
  return (address: string): Readonly<Place> => {
    const known = places.get(address);
    if (known) return known;
    const place = placeOf(address, findRecord);
    places.set(address, place);
    return place;
  };
}

function placeOf(address: string, findRecord: (address: string) => Response | null): Readonly<Place> {
  try {
    const record = findRecord(address);
    return record === null ? nowhere : toPlace(record as GeoRecord);
  } catch {
    return nowhere;
  }
}

/** What the two families of files hold: MaxMind's nested records, and the flat ones of ip-location-db. */
type GeoRecord = {
  country?: { iso_code?: string };
  subdivisions?: { iso_code?: string; names?: { en?: string } }[];
  city?: { names?: { en?: string } } | string;
  country_code?: string;
  state1?: string;
};

function toPlace({ country, subdivisions, city, country_code, state1 }: GeoRecord): Place {
  const code = country?.iso_code ?? country_code ?? '';
  const subdivision = subdivisions?.[0];
  return {
    country: code,
    region: subdivision?.iso_code ? `${code}-${subdivision.iso_code}` : (subdivision?.names?.en ?? state1 ?? ''),
    city: typeof city === 'string' ? city : (city?.names?.en ?? ''),
  };
}
