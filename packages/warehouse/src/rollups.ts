import type { ClickHouseClient } from '@clickhouse/client';
import { createRollupAccess, type RollupAccess } from './rollup-access.ts';
import { WarehouseError } from './warehouse-error.ts';

/** Of these tables only sums of the counts per key matter: they can be put right by adding what is missing. */
const counted = [
  { table: 'site_15m', key: 'website_id, bucket', counts: ['pageviews', 'custom_events'] },
  { table: 'path_day', key: 'website_id, day, url_path', counts: ['pageviews'] },
];

/** Tables that the view `<table>_mv` fills from events, column by column in the same order. */
export const rollupTables = ['visits', ...counted.map((rollup) => rollup.table)];

const REPAIR_ATTEMPTS = 50;
const VISITS_PER_REPAIR = 1_000;
const KEYS_PER_REPAIR = 10_000;

/**
 * Makes the website's rows of every rollup anew from its events. A block that is written meanwhile may be counted twice or not at all:
 * so the outcome is compared with the events, and what differs is put right. May be repeated.
 */
export async function rebuildRollups(client: ClickHouseClient, websiteId: string): Promise<void> {
  const access = createRollupAccess(client, websiteId);
  for (const table of rollupTables) {
    await access.deleteRows(table);
    await access.write(`INSERT INTO ${table} ${await access.viewSelect(table)}`, table);
  }
  await untilRight('visits', () => repairVisits(access));
  for (const rollup of counted) await untilRight(rollup.table, () => repairCounts(access, rollup));
}

async function untilRight(table: string, repair: () => Promise<'right' | 'repaired'>): Promise<void> {
  for (let attempt = 1; attempt <= REPAIR_ATTEMPTS; attempt++) if ((await repair()) === 'right') return;
  throw new WarehouseError('unavailable', `${table} still differs from its events`);
}

/** Writes visits anew that differ from their events: a visit that gets an event at that very moment may differ again. */
async function repairVisits(access: RollupAccess): Promise<'right' | 'repaired'> {
  const fresh = await access.viewSelect('visits');
  const stored = 'SELECT * FROM visits FINAL';
  const rows = await access.readQuietly<{ visit_id: string }>(
    `SELECT DISTINCT visit_id FROM ((${stored} EXCEPT ${fresh}) UNION ALL (${fresh} EXCEPT ${stored})) LIMIT ${VISITS_PER_REPAIR}`,
    'visits',
  );
  if (rows.length === 0) return 'right';
  const ids = rows.map((row) => row.visit_id);
  await access.deleteRows('visits', ids);
  await access.write(`INSERT INTO visits SELECT * FROM (${fresh}) WHERE visit_id IN {ids:Array(UUID)}`, 'visits', ids);
  return 'repaired';
}

/** Adds what the counts lack, negative where they have too much; blocks that come later change nothing about that. */
async function repairCounts(
  access: RollupAccess,
  { table, key, counts }: (typeof counted)[number],
): Promise<'right' | 'repaired'> {
  const fresh = await access.viewSelect(table);
  const differences = await access.readQuietly(
    `SELECT ${key}, ${counts.map((count) => `sum(${count}) AS ${count}`).join(', ')}
    FROM ((${fresh}) UNION ALL (SELECT ${key}, ${counts.map((count) => `-${count}`).join(', ')} FROM ${table}))
    GROUP BY ${key}
    HAVING ${counts.map((count) => `${count} != 0`).join(' OR ')}
    LIMIT ${KEYS_PER_REPAIR}`,
    table,
  );
  if (differences.length === 0) return 'right';
  await access.insertRows(table, differences);
  return 'repaired';
}
