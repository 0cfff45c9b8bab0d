import type { ClickHouseClient } from '@clickhouse/client';
import { toReadError } from '../warehouse-error.ts';
import { createRollupAccess } from './access.ts';
import { createComparison, findDifferences, type RollupComparison, type RollupDrift } from './differences.ts';
import { listRollupParts, type RollupScope } from './parts.ts';

const dayMs = 86_400_000;

/**
 * Compares rollups with their events, row by row, as far as no TTL has touched either. Times are those of the rollups: whole quarters, whole
 * hours in which visits began, whole months of texts. Events that flow in meanwhile are no drift.
 */
export async function findRollupDrift(client: ClickHouseClient, now: Date, scope: RollupScope): Promise<RollupDrift[]> {
  try {
    return (await compareRollups(client, now, scope)).drifts;
  } catch (error) {
    throw toReadError(error);
  }
}

export async function compareRollups(
  client: ClickHouseClient,
  now: Date,
  scope: RollupScope,
): Promise<RollupComparison> {
  const access = await createRollupAccess(client, scope);
  const found = createComparison();
  for (const part of await listRollupParts(client, now, scope)) {
    const { sure, undecided } = await findDifferences(client, access, part);
    found.add(part.table, sure, undecided);
  }
  return found.all();
}

/** Some websites with events in the last two days, drawn by lot. */
export async function drawActiveWebsites(client: ClickHouseClient, now: Date, count: number): Promise<string[]> {
  const drawn = await client.query({
    query: `SELECT DISTINCT website_id FROM site_15m WHERE bucket >= toDateTime({sinceSeconds:UInt32}, 'UTC') ORDER BY rand() LIMIT {count:UInt8}`,
    query_params: { sinceSeconds: Math.floor((now.getTime() - 2 * dayMs) / 1000), count },
    format: 'JSONEachRow',
  });
  return (await drawn.json<{ website_id: string }>()).map((row) => row.website_id);
}
