import { type ClickHouseClient, type ClickHouseSettings, SettingsMap } from '@clickhouse/client';
import { rowsOf } from '../client.ts';
import { localName, onCluster, readCluster } from '../cluster.ts';
import { untilInsertsEnd } from '../until-inserts-end.ts';
import { viewSelectOf } from './access.ts';
import { repairAll } from './repair.ts';

/** New in the migration that this completes. */
const newRollups = ['site_visits', 'stray_visits', 'site_texts'] as const;

/**
 * Fills rollups that have just been created from the events that are there, week by week, while their views bring what
 * comes in. A block that is written meanwhile may be counted twice: so everything is compared with the events at the
 * end, and what differs is put right.
 */
export async function fillRollups(client: ClickHouseClient): Promise<void> {
  await untilInsertsEnd(client); // they may have begun before the views were there
  const cluster = await readCluster(client);
  for (const table of newRollups) {
    await client.command({ query: `TRUNCATE TABLE ${localName(table, cluster)} ${onCluster(cluster)}` }); // what a run left behind that was cut short
    await insertByWeek(client, `INSERT INTO ${table} ${await viewSelectOf(client, table)}`);
  }
  await repairAll(client, new Date(), {});
}

/**
 * Gives visits whose events differ their greatest attributes, of which rows from before the columns hold the least: by
 * rows that change nothing else when they are merged, so that it may be repeated.
 */
export async function fillAttributeMaxima(client: ClickHouseClient): Promise<void> {
  await untilInsertsEnd(client); // they may have begun while the view had no such columns
  const neutral = "toUInt32(0) AS pageviews, CAST(([], []), 'Tuple(Array(String), Array(UInt64))') AS referrers";
  await insertByWeek(
    client,
    `INSERT INTO site_visits SELECT * REPLACE (${neutral}) FROM (${await viewSelectOf(client, 'site_visits')})
      WHERE visit_id IN (SELECT visit_id FROM site_visits FINAL WHERE attributes_min != attributes_max)`,
  );
}

/** Runs the statement once for each week that has events; it sees only those of the week. */
async function insertByWeek(client: ClickHouseClient, query: string): Promise<void> {
  const events = localName('events', await readCluster(client));
  const weeks = await rowsOf<{ week: string }>(
    client,
    'SELECT DISTINCT toString(toMonday(created_at)) AS week FROM events ORDER BY week',
  );
  for (const { week } of weeks) {
    const ofWeek = SettingsMap.from({ [events]: `toMonday(created_at) = toDate(\\'${week}\\')` });
    await client.command({ query, clickhouse_settings: { ...settings, additional_table_filters: ofWeek } });
  }
}

const settings: ClickHouseSettings = {
  insert_deduplicate: 0,
  distributed_foreground_insert: 1,
  distributed_product_mode: 'local',
  throw_on_max_partitions_per_insert_block: 0,
};
