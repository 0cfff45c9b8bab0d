import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseClient } from '@clickhouse/client';
import { untilInsertsEnd } from '../until-inserts-end.ts';
import { WarehouseError } from '../warehouse-error.ts';
import { createRollupAccess, type RollupAccess, viewSelectOf } from './access.ts';
import {
  comparedColumns,
  createDriftCount,
  type Difference,
  findDifferences,
  nameOf,
  type RollupComparison,
} from './differences.ts';
import { listRollupParts, type RollupPart, type RollupScope, type RollupTable } from './parts.ts';

/** Tables that the view `<table>_mv` fills from events, column by column in the same order. */
export const rollupTables: readonly RollupTable[] = ['site_visits', 'stray_visits', 'site_15m', 'site_texts'];

/** Rounds of up to 20,000 rows in which a part must have become right. */
const roundsMax = 100;
/**
 * If a row is now wrong in the opposite direction, another process repaired it at the same time and both corrections
 * were added: wait at random, then look again.
 */
const againPauseMs = 500;
const againPauseMaxMs = 30_000;
/** So many times rows that change with every look are looked at. */
const triesMax = 5;

/**
 * Makes the website's rows of every rollup anew from its events. A block that is written meanwhile may be counted twice
 * or not at all: so `repairRollups` has to follow. May be repeated, and done twice at once.
 */
export async function rebuildRollups(client: ClickHouseClient, websiteId: string): Promise<void> {
  const scope = { websiteIds: [websiteId] };
  const access = await createRollupAccess(client, scope);
  const ofWebsites = 'website_id IN {websiteIds:Array(UUID)}';
  for (const table of rollupTables) {
    await access.delete(table, ofWebsites);
    const fresh = `SELECT * FROM (${await viewSelectOf(client, table)}) WHERE ${ofWebsites}`;
    await access.insert(table, fresh, '1');
  }
}

/** As `repairAll`, of a website that `rebuildRollups` was called for. */
export const repairRollups = (client: ClickHouseClient, websiteId: string): Promise<boolean> =>
  repairAll(client, new Date(), { websiteIds: [websiteId] });

/**
 * Puts right whatever differs from its events, of rollups that were just made anew, and tells whether anything did;
 * throws when that cannot be told of some rows.
 */
export async function repairAll(client: ClickHouseClient, now: Date, scope: RollupScope): Promise<boolean> {
  // A block that was half written when they were is in them already, and comes a second time by its view: until then
  // nothing shows it.
  await untilInsertsEnd(client);
  let differed = false;
  for (let tries = 1; ; tries++) {
    const { drifts, undecided } = await repairScope(client, now, scope, true);
    differed ||= drifts.length > 0;
    if (undecided === 0) return differed;
    if (tries === triesMax)
      throw new WarehouseError(
        'unavailable',
        `${undecided} rows of rollups could not be compared: they change all the time`,
      );
  }
}

/**
 * Puts right what differs from its events, and tells what that was. `isRemade`: of rollups that were just made anew.
 * Row by row: questions meanwhile see all that is right, counts never disappear, and of visits only those that have a
 * wrong row do, for the moment between its removal and the right one.
 */
export async function repairScope(
  client: ClickHouseClient,
  now: Date,
  scope: RollupScope,
  isRemade = false,
): Promise<RollupComparison> {
  const access = await createRollupAccess(client, scope);
  const found = createDriftCount();
  for (const part of await listRollupParts(client, now, scope)) {
    const [rows, undecided] = await repairPart(client, access, part, isRemade);
    found.add(part.table, [...rows.values()], undecided);
  }
  return found.all();
}

/** Gives the rows that were wrong, by their names, and of how many others it could not be told. */
async function repairPart(
  client: ClickHouseClient,
  access: RollupAccess,
  part: RollupPart,
  isRemade: boolean,
): Promise<[Map<string, Difference>, number]> {
  const repaired = new Map<string, Difference>();
  let pauseMs = againPauseMs;
  let last = '';
  for (let round = 1; round <= roundsMax; round++) {
    const { sure, undecided } = await findDifferences(client, access, part, isRemade || repaired.size > 0);
    const [first] = sure;
    if (!first) return [repaired, undecided];
    last = nameOf(first);
    const isDoneTwice = sure.some((difference) => isUndoing(part, repaired.get(nameOf(difference)), difference));
    await (comparedColumns[part.table].isCount ? repairCounts : repairVisits)(access, part, sure);
    for (const difference of sure) repaired.set(nameOf(difference), difference);
    if (!isDoneTwice) continue;
    await delay(randomInt(pauseMs)); // who waits longer finds it done
    pauseMs = Math.min(pauseMs * 2, againPauseMaxMs);
  }
  throw new WarehouseError('unavailable', `${part.table} still differs from its events, such as in the row ${last}`);
}

/**
 * Whether a row is wrong again and its repair does not tell why: of a count that grows all the time a repair adds what
 * it lacks at least.
 */
function isUndoing({ table }: RollupPart, repaired: Difference | undefined, now: Difference): boolean {
  if (!repaired) return false;
  if (!comparedColumns[table].isCount) return true;
  const signs = ({ fresh, stored }: Difference) =>
    fresh.map((count, i) => Math.sign(Number(count - (stored[i] ?? 0n))));
  const before = signs(repaired);
  return signs(now).some((sign, i) => sign * (before[i] ?? 0) < 0);
}

/** Adds what the counts lack, negative where they have too much; blocks that come later change nothing about that. */
async function repairCounts(access: RollupAccess, { table }: RollupPart, wrong: readonly Difference[]): Promise<void> {
  const lacking = wrong.map(({ key, fresh, stored }) => ({
    ...key,
    ...Object.fromEntries(
      comparedColumns[table].values.map((count, i) => [count, String((fresh[i] ?? 0n) - (stored[i] ?? 0n))]),
    ),
  }));
  await access.insertRows(table, lacking);
}

/**
 * Takes away visits that have a row and writes those that should: one that gets an event at that very moment may differ
 * again.
 */
async function repairVisits(access: RollupAccess, part: RollupPart, wrong: readonly Difference[]): Promise<void> {
  const { table, events } = part;
  const toDelete = wrong.filter(({ stored }) => stored[0] !== 0n);
  const toWrite = wrong.filter(({ fresh }) => fresh[0] !== 0n);
  if (toDelete.length > 0) await access.delete(table, isOneOf(toDelete));
  if (toWrite.length > 0)
    await access.insert(table, `SELECT * FROM (${await access.freshRows(part)}) WHERE ${isOneOf(toWrite)}`, events);
}

/**
 * Holds for these visits, by their keys as ClickHouse gave them: more than fit into a parameter, and read ten times
 * faster in arrays than in tuples. It may hold for other rows of theirs too; what that takes away is missing at the
 * next look.
 */
function isOneOf(visits: readonly Difference[]): string {
  const isIn = (column: string) =>
    `${column} IN [${[...new Set(visits.map(({ key }) => `'${key[column]}'`))].join(', ')}]`;
  return comparedColumns.site_visits.key.map(isIn).join(' AND ');
}
