import type { ClickHouseClient } from '@clickhouse/client';
import { toReadError } from './warehouse-error.ts';

/** The sessions of the website of which something was collected since the instant, whatever the event time: for forgetting their visits. */
export async function findRecentSessions(client: ClickHouseClient, websiteId: string, since: Date): Promise<string[]> {
  const collected = (table: string) => `SELECT DISTINCT session_id FROM ${table}
    WHERE website_id = {websiteId:UUID}
      AND UUIDv7ToDateTime(event_id, 'UTC') >= fromUnixTimestamp64Milli({sinceMs:Int64}, 'UTC')`;
  try {
    const answer = await client.query({
      query: `${collected('events')} UNION DISTINCT ${collected('session_properties')}`,
      query_params: { websiteId, sinceMs: since.getTime() },
      format: 'JSONEachRow',
    });
    return (await answer.json<{ session_id: string }>()).map((row) => row.session_id);
  } catch (error) {
    throw toReadError(error);
  }
}
