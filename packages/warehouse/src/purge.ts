import type { ClickHouseClient } from '@clickhouse/client';
import { rowsOf } from './client.ts';
import { localName, onCluster, readCluster } from './cluster.ts';
import { rebuildRollups, rollupTables } from './rollups/repair.ts';
import { untilInsertsEnd } from './until-inserts-end.ts';

/** Deletes are in effect for every query that begins after they resolve. */
const deleteSettings = { mutations_sync: '2', lightweight_deletes_sync: '2' } as const;

const collected = ['events', 'session_properties'] as const;

/**
 * Removes everything of a website, also of inserts that run when it is called: ClickHouse goes on with what a worker
 * sent that has died since. May be repeated.
 */
export async function purgeWebsite(client: ClickHouseClient, websiteId: string): Promise<void> {
  await untilInsertsEnd(client);
  for (const table of [...collected, ...rollupTables])
    await deleteRows(client, table, `website_id = {websiteId:UUID}`, { websiteId });
}

/**
 * Removes what was collected before the instant, whatever its event time, also of inserts that run when it is called,
 * and makes the rollups anew from the rest, to be put right with `repairRollups`. May be repeated.
 */
export async function purgeCollectedBefore(client: ClickHouseClient, websiteId: string, before: Date): Promise<void> {
  await untilInsertsEnd(client);
  const collectedBefore = `website_id = {websiteId:UUID}
    AND UUIDv7ToDateTime(event_id, 'UTC') < fromUnixTimestamp64Milli({beforeMs:Int64}, 'UTC')`;
  for (const table of collected)
    await deleteRows(client, table, collectedBefore, { websiteId, beforeMs: before.getTime() });
  await rebuildRollups(client, websiteId);
}

/**
 * Deletes of a table wait for each other, and one costs much even where it finds nothing: so it is looked first. But on
 * a cluster, where the replica that is asked may not have yet what another one has.
 */
async function deleteRows(
  client: ClickHouseClient,
  table: string,
  condition: string,
  params: Record<string, unknown>,
): Promise<void> {
  const cluster = await readCluster(client);
  if (!cluster && (await rowsOf(client, `SELECT 1 FROM ${table} WHERE ${condition} LIMIT 1`, params)).length === 0)
    return;
  const where = `${localName(table, cluster)} ${onCluster(cluster)}`;
  // Trap: what DELETE FROM removes stays in a projection (migration 0003), and only events have one.
  const deletes = table === 'events' ? `ALTER TABLE ${where} DELETE` : `DELETE FROM ${where}`;
  await client.command({
    query: `${deletes} WHERE ${condition}`,
    query_params: params,
    clickhouse_settings: deleteSettings,
  });
}
