import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ClickHouseClient, type ClickHouseSettings, SettingsMap } from '@clickhouse/client';
import { rowsOf } from '../client.ts';
import { localName, onCluster, readCluster, systemTable, untilReplicated, withPlainNames } from '../cluster.ts';
import { runningInserts } from '../until-inserts-end.ts';
import { WarehouseError } from '../warehouse-error.ts';
import type { RollupPart, RollupScope, RollupTable } from './parts.ts';

const idlePauseMaxMs = 30;
const readingPauseMs = 20;

const settings: ClickHouseSettings = {
  // Trap: without this a block that was written before, by an earlier repair, would be taken for its repetition.
  insert_deduplicate: 0,
  throw_on_max_partitions_per_insert_block: 0,
  // Visits of a big website's day may be more than fit into memory.
  max_bytes_before_external_group_by: '1000000000',
  output_format_json_quote_64bit_integers: 1,
  // Rollups tell of the events themselves, and a projection may differ from them (migration 0003).
  optimize_use_projections: 0,
  // Many rows are named in one statement.
  max_query_size: '10000000',
  distributed_foreground_insert: 1,
  distributed_product_mode: 'local',
};

/** What a comparison reads. */
const comparedTables = ['events', 'site_visits', 'stray_visits', 'site_15m', 'site_texts'] as const;

export type RollupAccess = Awaited<ReturnType<typeof createRollupAccess>>;

/** Statements about rollups of some websites, or of all; queries may have `{websiteIds:Array(UUID)}`. */
export async function createRollupAccess(client: ClickHouseClient, { websiteIds }: Pick<RollupScope, 'websiteIds'>) {
  const cluster = await readCluster(client);
  const settingsFor = (events: string) => ({
    ...settings,
    additional_table_filters: SettingsMap.from({ [localName('events', cluster)]: events }),
  });
  const run = async (query: string, events: string): Promise<void> => {
    await client.command({
      query,
      query_params: { websiteIds },
      clickhouse_settings: { ...settingsFor(events), mutations_sync: '2', lightweight_deletes_sync: '2' },
    });
  };

  return {
    /**
     * Reads rows; of events only those for which the condition holds. `isQuiet`: at the moment at which the rows are
     * from no block was half written, stored in events and not yet in its views: no insert ran before, and none has
     * stored anything since. Such a moment is waited for as long as `waitMaxMs`; `waitedMs`: how long that was.
     */
    async read<Row>(
      query: string,
      events: string,
      waitMaxMs: number,
    ): Promise<{ rows: Row[]; isQuiet: boolean; waitedMs: number }> {
      const startedAt = performance.now();
      const before = await untilNoInsertRuns(client, cluster, waitMaxMs);
      const waitedMs = performance.now() - startedAt;
      await untilReplicated(client, comparedTables, cluster);
      const queryId = randomUUID();
      const answering = client
        .query({
          query,
          query_params: { websiteIds },
          query_id: queryId,
          format: 'JSONEachRow',
          clickhouse_settings: settingsFor(events),
        })
        .then((answer) => answer.json<Row>());
      await untilReading(client, cluster, queryId, answering);
      const isQuiet = before === (await blocksWritten(client, cluster));
      return { rows: await answering, isQuiet, waitedMs };
    },
    /** Inserts what the query gives; of events it sees only those for which the condition holds. */
    insert: (table: RollupTable, query: string, events: string) => run(`INSERT INTO ${table} ${query}`, events),
    delete: (table: RollupTable, condition: string) =>
      run(`DELETE FROM ${localName(table, cluster)} ${onCluster(cluster)} WHERE ${condition}`, '1'),
    async insertRows(table: RollupTable, rows: unknown[]): Promise<void> {
      await client.insert({ table, values: rows, format: 'JSONEachRow', clickhouse_settings: settings });
    },
    /** What the view would write of the part's events, and the rollup has to have. */
    async freshRows({ table, rows }: RollupPart): Promise<string> {
      return `SELECT * FROM (${await viewSelectOf(client, table)}) WHERE ${rows}`;
    },
  };
}

/**
 * The definition of the view that fills the table, so that rows made by it are the rows that the view would have
 * written.
 */
export async function viewSelectOf(client: ClickHouseClient, table: RollupTable): Promise<string> {
  const [row] = await rowsOf<{ as_select: string }>(
    client,
    `SELECT as_select FROM system.tables WHERE database = currentDatabase() AND name = '${table}_mv'`,
  );
  if (!row) throw new WarehouseError('unavailable', `There is no view ${table}_mv`);
  return withPlainNames(row.as_select, ['events'], await readCluster(client));
}

/** Gives what is written at a moment at which no insert runs; null when there is none. */
async function untilNoInsertRuns(
  client: ClickHouseClient,
  cluster: string | undefined,
  waitMaxMs: number,
): Promise<string | null> {
  const startedAt = performance.now();
  for (;;) {
    const written = await blocksWritten(client, cluster);
    if ((await runningInserts(client, cluster)).length === 0) return written;
    if (performance.now() - startedAt >= waitMaxMs) return null;
    await delay(randomInt(idlePauseMaxMs));
  }
}

/** Until the query has taken what it reads: all of it at one moment, before its first row. */
async function untilReading(
  client: ClickHouseClient,
  cluster: string | undefined,
  queryId: string,
  answering: Promise<unknown>,
): Promise<void> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  answering.then(end, end);
  const query = `SELECT count() AS n FROM ${systemTable('processes', cluster)} WHERE query_id = '${queryId}' AND read_rows > 0`;
  while (!ended) {
    const [row] = await rowsOf<{ n: number | string }>(client, query);
    if (Number(row?.n) > 0) return;
    await delay(readingPauseMs);
  }
}

/** A text that changes with every block written to events, and not when a replica gets what another one has. */
async function blocksWritten(client: ClickHouseClient, cluster: string | undefined): Promise<string> {
  const [row] = await rowsOf<{ written: string }>(
    client,
    `SELECT toString(arraySort(groupArray((shard, partition_id, last)))) AS written
     FROM (SELECT ${cluster ? "getMacro('shard')" : "''"} AS shard, partition_id, max(max_block_number) AS last
       FROM ${systemTable('parts', cluster)}
       WHERE database = currentDatabase() AND table = '${localName('events', cluster)}' AND active GROUP BY shard, partition_id)`,
  );
  return row?.written ?? '';
}
