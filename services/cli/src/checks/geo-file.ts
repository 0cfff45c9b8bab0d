import { readFile } from 'node:fs/promises';
import { Reader } from 'mmdb-lib';
import { type Finding, messageOf, ok, warn } from './finding.ts';

const oldDays = 400;
const dayMs = 86_400_000;

/** Whether the file that tells where an address is can be read here, and of which kind and day it is. */
export async function checkGeoFile(file: string | undefined, now: Date): Promise<Finding> {
  if (file === undefined) return ok('GEOIP_DB is not set: countries by the file that comes along');
  try {
    const { databaseType, buildEpoch } = new Reader(await readFile(file)).metadata;
    return judgeGeoFile(file, databaseType, buildEpoch, now);
  } catch (error) {
    return warn(
      `${file} cannot be used here: ${messageOf(error)}`,
      'Collectors do not start without it. Where they run on another machine or in another container, look there.',
    );
  }
}

export function judgeGeoFile(file: string, databaseType: string, builtAt: Date, now: Date): Finding {
  const detail = `${file}: ${databaseType}, of ${builtAt.toISOString().slice(0, 10)}`;
  const isOld = now.getTime() - builtAt.getTime() > oldDays * dayMs;
  return isOld ? warn(detail, 'Get a newer one: addresses move.') : ok(detail);
}
