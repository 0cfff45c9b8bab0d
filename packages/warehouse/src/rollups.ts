import type { ClickHouseClient } from '@clickhouse/client';
import { createRollupAccess, type RollupAccess } from './rollup-access.ts';
import { WarehouseError } from './warehouse-error.ts';

/** Tables that the view `<table>_mv` fills from events, column by column in the same order. */
export const rollupTables = ['site_visits', 'stray_visits', 'site_15m', 'site_texts'] as const;

/** Rows of these stand for a visit: one that is wrong is written anew. */
const visitTables = ['site_visits', 'stray_visits'] as const;

/** Of these only sums of the counts per key matter: they can be put right by adding what is missing. */
const countTables = [
  { table: 'site_15m', key: 'website_id, bucket', counts: ['pageviews', 'custom_events'] },
  { table: 'site_texts', key: 'website_id, month, kind, text', counts: ['events'] },
] as const;

const repairAttempts = 50;
const visitsPerRepair = 1_000;
const keysPerRepair = 10_000;

/**
 * Makes the website's rows of every rollup anew from its events. A block that is written meanwhile may be counted twice or not at all:
 * so the outcome is compared with the events, and what differs is put right. May be repeated, and done twice at once.
 */
export async function rebuildRollups(client: ClickHouseClient, websiteId: string): Promise<void> {
  const access = createRollupAccess(client, websiteId);
  for (const table of rollupTables) {
    await access.deleteRows(table);
    await access.write(`INSERT INTO ${table} ${await access.viewSelect(table)}`, table);
  }
  await repairRollups(client, websiteId);
}

/** Puts right what differs from the website's events, row by row: questions meanwhile see every other row as it is. */
export async function repairRollups(client: ClickHouseClient, websiteId: string): Promise<void> {
  const access = createRollupAccess(client, websiteId);
  for (const table of visitTables) await untilRight(table, () => repairVisits(access, table));
  for (const rollup of countTables) await untilRight(rollup.table, () => repairCounts(access, rollup));
}

async function untilRight(table: string, repair: () => Promise<'right' | 'repaired'>): Promise<void> {
  for (let attempt = 1; attempt <= repairAttempts; attempt++) if ((await repair()) === 'right') return;
  throw new WarehouseError('unavailable', `${table} still differs from its events`);
}

/** Writes visits anew that differ from their events: a visit that gets an event at that very moment may differ again. */
async function repairVisits(access: RollupAccess, table: string): Promise<'right' | 'repaired'> {
  const fresh = await access.viewSelect(table);
  const stored = `SELECT * FROM ${table} FINAL`;
  const rows = await access.readQuietly<{ visit_id: string }>(
    `SELECT DISTINCT visit_id FROM ((${stored} EXCEPT ${fresh}) UNION ALL (${fresh} EXCEPT ${stored})) LIMIT ${visitsPerRepair}`,
    table,
  );
  if (rows.length === 0) return 'right';
  const ids = rows.map((row) => row.visit_id);
  await access.deleteRows(table, ids);
  await access.write(`INSERT INTO ${table} SELECT * FROM (${fresh}) WHERE visit_id IN {ids:Array(UUID)}`, table, ids);
  return 'repaired';
}

/** Adds what the counts lack, negative where they have too much; blocks that come later change nothing about that. */
async function repairCounts(
  access: RollupAccess,
  { table, key, counts }: (typeof countTables)[number],
): Promise<'right' | 'repaired'> {
  const fresh = await access.viewSelect(table);
  const differences = await access.readQuietly(
    `SELECT ${key}, ${counts.map((count) => `sum(${count}) AS ${count}`).join(', ')}
    FROM ((${fresh}) UNION ALL (SELECT ${key}, ${counts.map((count) => `-${count}`).join(', ')} FROM ${table}))
    GROUP BY ${key}
    HAVING ${counts.map((count) => `${count} != 0`).join(' OR ')}
    LIMIT ${keysPerRepair}`,
    table,
  );
  if (differences.length === 0) return 'right';
  await access.insertRows(table, differences);
  return 'repaired';
}
