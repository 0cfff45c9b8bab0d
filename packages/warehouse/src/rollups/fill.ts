import type { ClickHouseClient } from '@clickhouse/client';
import { rowsOf } from '../client.ts';
import { localName, onCluster, readCluster, untilReplicated } from '../cluster.ts';
import { untilInsertsEnd } from '../until-inserts-end.ts';
import { createRollupAccess, viewSelectOf } from './access.ts';
import type { RollupTable } from './parts.ts';
import { repairAll } from './repair.ts';

/** New in migration 0002. */
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
    const fresh = await viewSelectOf(client, table);
    await insertByWeek(client, table, () => fresh);
  }
  await repairAll(client, new Date(), {});
}

/**
 * Gives visits whose events differ what migrations 0005 and 0006 have added to rows, and those from before do not know:
 * by rows that change nothing else when they are merged, so that it may be repeated. Then everything is compared with
 * the events: a view that is changed forgets the tokens of blocks (ClickHouse 26.7), and counts one that is sent a
 * second time after the change once more.
 */
export async function fillDifferingVisits(client: ClickHouseClient): Promise<void> {
  await untilInsertsEnd(client); // they may have begun while the view had no such columns
  await untilReplicated(client, ['events', 'site_visits', 'stray_visits'], await readCluster(client));
  const neutral = "toUInt32(0) AS pageviews, CAST(([], []), 'Tuple(Array(String), Array(UInt64))') AS referrers";
  const fresh = await viewSelectOf(client, 'site_visits');
  await insertByWeek(
    client,
    'site_visits',
    (week) => `
    SELECT * REPLACE (${neutral}) FROM (${fresh})
    WHERE visit_id IN (
      SELECT visit_id FROM site_visits FINAL
      WHERE attributes_min != attributes_max AND toDate(start_hour, 'UTC') BETWEEN toDate('${week}') - 1 AND toDate('${week}') + 7
      UNION ALL
      SELECT visit_id FROM stray_visits)`,
  );
  await repairAll(client, new Date(), {});
}

/** Inserts what the query gives, once for each week that has events (its Monday); it sees only those of the week. */
async function insertByWeek(
  client: ClickHouseClient,
  table: RollupTable,
  queryOf: (week: string) => string,
): Promise<void> {
  const access = await createRollupAccess(client, {});
  const weeks = await rowsOf<{ week: string }>(
    client,
    'SELECT DISTINCT toString(toMonday(created_at)) AS week FROM events ORDER BY week',
  );
  for (const { week } of weeks)
    await access.insert(table, queryOf(week), `toMonday(created_at) = toDate(\\'${week}\\')`);
}
