import type { ClickHouseClient } from '@clickhouse/client';
import { rebuildRollups, rollupTables } from './rollups.ts';
import { toWriteError } from './warehouse-error.ts';

/** Deletes are in effect for every query that begins after they resolve. */
const deleteSettings = { mutations_sync: '2', lightweight_deletes_sync: '2' } as const;

const collected = ['events', 'session_properties'] as const;

/** Removes everything of a website. May be repeated. */
export async function purgeWebsite(client: ClickHouseClient, websiteId: string): Promise<void> {
  try {
    for (const table of [...collected, ...rollupTables])
      await client.command({
        query: `DELETE FROM ${table} WHERE website_id = {websiteId:UUID}`,
        query_params: { websiteId },
        clickhouse_settings: deleteSettings,
      });
  } catch (error) {
    throw toWriteError(error);
  }
}

/** Removes what was collected before the instant, whatever its event time, and makes the rollups anew from the rest. May be repeated. */
export async function purgeCollectedBefore(client: ClickHouseClient, websiteId: string, before: Date): Promise<void> {
  try {
    for (const table of collected)
      await client.command({
        query: `DELETE FROM ${table} WHERE website_id = {websiteId:UUID}
          AND UUIDv7ToDateTime(event_id, 'UTC') < fromUnixTimestamp64Milli({beforeMs:Int64}, 'UTC')`,
        query_params: { websiteId, beforeMs: before.getTime() },
        clickhouse_settings: deleteSettings,
      });
    await rebuildRollups(client, websiteId);
  } catch (error) {
    throw toWriteError(error);
  }
}
