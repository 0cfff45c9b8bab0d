import { type ClickHouseClient, SettingsMap } from '@clickhouse/client';
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
  const weeks = await rowsOf<{ week: string }>(
    client,
    'SELECT DISTINCT toString(toMonday(created_at)) AS week FROM events ORDER BY week',
  );
  for (const table of newRollups) {
    await client.command({ query: `TRUNCATE TABLE ${localName(table, cluster)} ${onCluster(cluster)}` }); // what a run left behind that was cut short
    const select = await viewSelectOf(client, table);
    for (const { week } of weeks)
      await client.command({
        query: `INSERT INTO ${table} ${select}`,
        clickhouse_settings: {
          insert_deduplicate: 0,
          distributed_foreground_insert: 1,
          throw_on_max_partitions_per_insert_block: 0,
          additional_table_filters: SettingsMap.from({
            [localName('events', cluster)]: `toMonday(created_at) = toDate(\\'${week}\\')`,
          }),
        },
      });
  }
  await repairAll(client, new Date(), {});
}
