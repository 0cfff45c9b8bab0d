import type { ClickHouseClient } from '@clickhouse/client';
import { rowsOf } from './client.ts';

/**
 * The sessions of the website of which something was collected since the instant, whatever the event time: for
 * forgetting their visits.
 */
export async function findRecentSessions(client: ClickHouseClient, websiteId: string, since: Date): Promise<string[]> {
  const collected = (table: string) => `SELECT DISTINCT session_id FROM ${table}
    WHERE website_id = {websiteId:UUID}
      AND UUIDv7ToDateTime(event_id, 'UTC') >= fromUnixTimestamp64Milli({sinceMs:Int64}, 'UTC')`;
  const rows = await rowsOf<{ session_id: string }>(
    client,
    `${collected('events')} UNION DISTINCT ${collected('session_properties')}`,
    { websiteId, sinceMs: since.getTime() },
  );
  return rows.map((row) => row.session_id);
}
