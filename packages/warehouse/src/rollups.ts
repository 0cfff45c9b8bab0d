import { setTimeout as delay } from 'node:timers/promises';
import { type ClickHouseClient, SettingsMap } from '@clickhouse/client';
import { WarehouseError } from './warehouse-error.ts';

/** Tables that a materialized view of the same name with `_mv` fills from events, column by column in the same order. */
export const rollups = ['visits', 'site_15m', 'path_day'] as const;
type Rollup = (typeof rollups)[number];

const REBUILD_ATTEMPTS = 10;
/** By then a block that was being written when the rebuild read the events is in the views too. */
const SETTLE_MS = 1_000;

/**
 * Makes the website's rows of every rollup anew from its events. A block that is written meanwhile may be counted twice or not at all:
 * so the outcome is compared with the events, and done again where it differs. `websiteId` must be a UUID.
 */
export async function rebuildRollups(client: ClickHouseClient, websiteId: string): Promise<void> {
  for (const rollup of rollups) await rebuildRollup(client, rollup, websiteId);
}

async function rebuildRollup(client: ClickHouseClient, rollup: Rollup, websiteId: string): Promise<void> {
  const select = await viewSelect(client, rollup);
  for (let attempt = 1; attempt <= REBUILD_ATTEMPTS; attempt++) {
    await client.command({
      query: `DELETE FROM ${rollup} WHERE website_id = {websiteId:UUID}`,
      query_params: { websiteId },
      clickhouse_settings: { mutations_sync: '2', lightweight_deletes_sync: '2' },
    });
    await client.command({
      query: `INSERT INTO ${rollup} ${select}`,
      // Trap: without this, a rebuild that writes what an earlier one wrote would be taken for its repetition.
      clickhouse_settings: { insert_deduplicate: 0, additional_table_filters: onlyWebsite(websiteId, ['events']) },
    });
    await delay(SETTLE_MS);
    if (!(await differs(client, rollup, select, websiteId))) return;
  }
  throw new WarehouseError('unavailable', `${rollup} of ${websiteId} still differs from its events`);
}

async function differs(client: ClickHouseClient, rollup: Rollup, select: string, websiteId: string): Promise<boolean> {
  const stored = `SELECT * FROM ${rollup} FINAL`;
  const result = await client.query({
    query: `SELECT (SELECT count() FROM (${stored} EXCEPT ${select})) + (SELECT count() FROM (${select} EXCEPT ${stored})) AS differences`,
    format: 'JSONEachRow',
    clickhouse_settings: {
      output_format_json_quote_64bit_integers: 0,
      additional_table_filters: onlyWebsite(websiteId, ['events', rollup]),
    },
  });
  const [row] = await result.json<{ differences: number }>();
  return row?.differences !== 0;
}

/** The view's own definition, so that rebuilt rows are the rows that it would have written. */
async function viewSelect(client: ClickHouseClient, rollup: Rollup): Promise<string> {
  const result = await client.query({
    query: 'SELECT as_select FROM system.tables WHERE database = currentDatabase() AND name = {view:String}',
    query_params: { view: `${rollup}_mv` },
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ as_select: string }>();
  if (!row) throw new WarehouseError('unavailable', `There is no view ${rollup}_mv`);
  return row.as_select;
}

const onlyWebsite = (websiteId: string, tables: readonly string[]) =>
  SettingsMap.from(Object.fromEntries(tables.map((table) => [table, `website_id = toUUID(\\'${websiteId}\\')`])));
