import type { ClickHouseClient } from '@clickhouse/client';
import { rowsOf } from './client.ts';
import { localName, onCluster, readCluster } from './cluster.ts';

/** What a row's age is counted from, in each table. A visit and a quarter are as old as their first moment, the texts of a month as their last. */
const ageColumns = {
  events: 'toDateTime(created_at)',
  site_visits: 'start_hour',
  stray_visits: 'start_hour',
  site_15m: 'bucket',
  site_texts: 'toDateTime(addMonths(month, 1))',
  session_properties: 'toDateTime(created_at)',
} as const;

/** What is to be changed about a table: the end of an ALTER TABLE. */
export type RetentionChange = { table: string; change: string };

/**
 * Sets for how many days (by event time) everything is kept, in events and rollups alike; undefined: for ever. ClickHouse removes what is
 * older in the background, within hours. Where it is set so already nothing is done.
 */
export async function setRetention(client: ClickHouseClient, days: number | undefined): Promise<void> {
  const on = onCluster(await readCluster(client));
  for (const { table, change } of await planRetention(client, days))
    await client.command({ query: `ALTER TABLE ${table} ${on} ${change}` });
}

/** What `setRetention` would do now. */
export async function planRetention(client: ClickHouseClient, days: number | undefined): Promise<RetentionChange[]> {
  const changes: RetentionChange[] = [];
  const cluster = await readCluster(client);
  for (const [name, age] of Object.entries(ageColumns)) {
    const table = localName(name, cluster);
    const ttl = days === undefined ? '' : `${age} + toIntervalDay(${days})`;
    if ((await ttlOf(client, table)) !== ttl)
      changes.push({ table, change: ttl === '' ? 'REMOVE TTL' : `MODIFY TTL ${ttl}` });
  }
  return changes;
}

/** For how many days rows are sure to be kept now, by the shortest TTL of all tables; undefined: for ever. */
export async function readRetention(client: ClickHouseClient): Promise<number | undefined> {
  const cluster = await readCluster(client);
  const [row] = await rowsOf<{ days: string }>(
    client,
    `SELECT toInt64OrNull(extract(engine_full, ' TTL .*?toIntervalDay\\((\\d+)\\)')) AS days FROM system.tables
      WHERE database = currentDatabase() AND name IN {tables:Array(String)} AND days IS NOT NULL ORDER BY days LIMIT 1`,
    { tables: Object.keys(ageColumns).map((table) => localName(table, cluster)) },
  );
  return row && Number(row.days);
}

/** The expression by which rows of the table expire, '' when they do not. */
async function ttlOf(client: ClickHouseClient, table: string): Promise<string> {
  const [row] = await rowsOf<{ ttl: string }>(
    client,
    `SELECT extract(engine_full, ' TTL (.*?)(?: SETTINGS |$)') AS ttl FROM system.tables
      WHERE database = currentDatabase() AND name = {table:String}`,
    { table },
  );
  return row?.ttl ?? '';
}
