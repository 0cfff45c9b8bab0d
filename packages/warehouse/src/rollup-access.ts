import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ClickHouseClient, type ClickHouseSettings, SettingsMap } from '@clickhouse/client';
import { WarehouseError } from './warehouse-error.ts';

const QUIET_ATTEMPTS = 600;
const QUIET_PAUSE_MAX_MS = 200;

export type RollupAccess = ReturnType<typeof createRollupAccess>;

/** Statements about one website (a UUID): in `read`, `readQuietly` and `write` events and the rollup have only its rows. */
export function createRollupAccess(client: ClickHouseClient, websiteId: string) {
  const settings = (table: string): ClickHouseSettings => ({
    // Trap: without this a block that was written before, by an earlier rebuild, would be taken for its repetition.
    insert_deduplicate: 0,
    output_format_json_quote_64bit_integers: 0,
    additional_table_filters: SettingsMap.from(
      Object.fromEntries(['events', table].map((name) => [name, `website_id = toUUID(\\'${websiteId}\\')`])),
    ),
  });

  async function read<Row>(query: string, table: string): Promise<Row[]> {
    const result = await client.query({ query, format: 'JSONEachRow', clickhouse_settings: settings(table) });
    return result.json<Row>();
  }

  return {
    /**
     * Reads at a moment at which no block is half written: stored in events and not yet in its views.
     * No insert runs after the first look at the parts, and the parts are still the same after the read.
     */
    async readQuietly<Row>(query: string, table: string): Promise<Row[]> {
      for (let attempt = 1; attempt <= QUIET_ATTEMPTS; attempt++) {
        const before = await blocksWritten(client);
        if (!(await insertsRun(client))) {
          const rows = await read<Row>(query, table);
          if ((await blocksWritten(client)) === before) return rows;
        }
        await delay(randomInt(QUIET_PAUSE_MAX_MS));
      }
      throw new WarehouseError('unavailable', `${table} could not be compared with its events: inserts never pause`);
    },
    async write(query: string, table: string, ids: string[] = []): Promise<void> {
      await client.command({ query, query_params: { ids }, clickhouse_settings: settings(table) });
    },
    async insertRows(table: string, rows: unknown[]): Promise<void> {
      await client.insert({
        table,
        values: rows,
        format: 'JSONEachRow',
        clickhouse_settings: { insert_deduplicate: 0 },
      });
    },
    async deleteRows(table: string, visitIds?: string[]): Promise<void> {
      await client.command({
        query: `DELETE FROM ${table} WHERE website_id = {websiteId:UUID} ${visitIds ? 'AND visit_id IN {visitIds:Array(UUID)}' : ''}`,
        query_params: { websiteId, ...(visitIds && { visitIds }) },
        clickhouse_settings: { mutations_sync: '2', lightweight_deletes_sync: '2' },
      });
    },
    viewSelect: (table: string) => viewSelectOf(client, table),
  };
}

/** The definition of the view that fills the table, so that rows made by it are the rows that the view would have written. */
export async function viewSelectOf(client: ClickHouseClient, table: string): Promise<string> {
  const [row] = await rowsOf<{ as_select: string }>(
    client,
    `SELECT as_select FROM system.tables WHERE database = currentDatabase() AND name = '${table}_mv'`,
  );
  if (!row) throw new WarehouseError('unavailable', `There is no view ${table}_mv`);
  return row.as_select;
}

/** A number that changes with every block written to events. */
async function blocksWritten(client: ClickHouseClient): Promise<string> {
  const [row] = await rowsOf<{ written: string }>(
    client,
    `SELECT toString(arraySort(groupArray((partition_id, last)))) AS written
     FROM (SELECT partition_id, max(max_block_number) AS last FROM system.parts
       WHERE database = currentDatabase() AND table = 'events' AND active GROUP BY partition_id)`,
  );
  return row?.written ?? '';
}

async function insertsRun(client: ClickHouseClient): Promise<boolean> {
  const [row] = await rowsOf<{ running: boolean }>(
    client,
    `SELECT count() > 0 AS running FROM system.processes WHERE query_kind = 'Insert' AND current_database = currentDatabase()`,
  );
  return Boolean(row?.running);
}

async function rowsOf<Row>(client: ClickHouseClient, query: string): Promise<Row[]> {
  const result = await client.query({ query, format: 'JSONEachRow' });
  return result.json<Row>();
}
