import type { ClickHouseClient } from '@clickhouse/client';
import { rowsOf } from './client.ts';
import { localName, readCluster } from './cluster.ts';
import type { EventRow } from './event-row.ts';

/** What it takes to find an event again: the sort key of the table. */
export type EventKey = Pick<EventRow, 'websiteId' | 'createdAtMs' | 'eventId'>;

/** Keys per query: more make it slower than several queries. */
const keysPerQuery = 2_000;

/** Which of these events are stored: their ids. For batches of which a part may be: only the rest is inserted. */
export async function findStoredEventIds(client: ClickHouseClient, keys: readonly EventKey[]): Promise<Set<string>> {
  const stored = new Set<string>();
  const events = await readEverywhere(client);
  for (let start = 0; start < keys.length; start += keysPerQuery)
    for (const id of await findSome(client, events, keys.slice(start, start + keysPerQuery))) stored.add(id);
  return stored;
}

/** A replica may not have yet what another one has acknowledged. */
async function readEverywhere(client: ClickHouseClient): Promise<string> {
  const cluster = await readCluster(client);
  return cluster ? `clusterAllReplicas('${cluster}', currentDatabase(), '${localName('events', cluster)}')` : 'events';
}

async function findSome(client: ClickHouseClient, events: string, keys: readonly EventKey[]): Promise<string[]> {
  const rows = await rowsOf<{ event_id: string }>(
    client,
    `SELECT event_id FROM ${events}
      WHERE (website_id, created_at) IN (
        SELECT website_id, fromUnixTimestamp64Milli(created_at_ms, 'UTC')
        FROM (SELECT {websites:Array(UUID)} AS website_id, {times:Array(Int64)} AS created_at_ms) ARRAY JOIN website_id, created_at_ms)
      AND event_id IN {ids:Array(UUID)}`,
    {
      websites: keys.map((key) => key.websiteId),
      times: keys.map((key) => key.createdAtMs),
      ids: keys.map((key) => key.eventId),
    },
  );
  return rows.map((row) => row.event_id);
}
