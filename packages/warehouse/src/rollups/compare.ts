import type { ClickHouseClient } from '@clickhouse/client';
import { rowsOf } from '../client.ts';
import { createRollupAccess } from './access.ts';
import { createDriftCount, findDifferences, type RollupComparison } from './differences.ts';
import { listRollupParts, type RollupScope } from './parts.ts';

const dayMs = 86_400_000;

/**
 * Compares rollups with their events, row by row, as far as no TTL has touched either. Times are those of the rollups:
 * whole quarters, whole hours in which visits began, whole months of texts. Events that flow in meanwhile are no drift.
 */
export async function compareRollups(
  client: ClickHouseClient,
  now: Date,
  scope: RollupScope,
): Promise<RollupComparison> {
  const access = await createRollupAccess(client, scope);
  const found = createDriftCount();
  for (const part of await listRollupParts(client, now, scope)) {
    const { sure, undecided } = await findDifferences(client, access, part);
    found.add(part.table, sure, undecided);
  }
  return found.all();
}

/** Some websites with events in the last two days, drawn by lot. */
export async function drawActiveWebsites(client: ClickHouseClient, now: Date, count: number): Promise<string[]> {
  const rows = await rowsOf<{ website_id: string }>(
    client,
    `SELECT DISTINCT website_id FROM site_15m WHERE bucket >= toDateTime({sinceSeconds:UInt32}, 'UTC') ORDER BY rand() LIMIT {count:UInt8}`,
    { sinceSeconds: Math.floor((now.getTime() - 2 * dayMs) / 1000), count },
  );
  return rows.map((row) => row.website_id);
}
