import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ClickHouseClient } from '@clickhouse/client';
import { eventColumns, type SessionPropertyRow } from './event-row.ts';

/**
 * One insert = one block = one unit of deduplication, in the table and in every view.
 * Trap: without a token ClickHouse deduplicates by content, and two honest identical batches become one.
 * Trap: with a limit on partitions per block a view may refuse a block whose base rows are stored already; so there is
 * none.
 */
const insertSettings = {
  async_insert: 0,
  insert_deduplicate: 1,
  deduplicate_blocks_in_dependent_materialized_views: 1,
  max_insert_block_size: '1048576',
  min_insert_block_size_rows: '1048576',
  input_format_parallel_parsing: 0,
  throw_on_max_partitions_per_insert_block: 0,
  wait_end_of_query: 1,
  // On a cluster the block is cut by shard, and each part stored there under the token before the insert is
  // acknowledged.
  distributed_foreground_insert: 1,
} as const;

const eventsQuery = `INSERT INTO events (${eventColumns.join(', ')}) FORMAT RowBinary`;

const propertiesQuery = `INSERT INTO session_properties
  (website_id, session_id, property_key, created_at, event_id, value_type, string_value, number_value)
  FORMAT JSONCompactEachRow`;

/**
 * Stores the rows as one block, exactly once per token, in the events and in every view. `rows`: as `writeEventRow`
 * writes them, one behind the other, some in each piece; at most 1,048,576, and of one year (UTC).
 */
export function insertEvents(client: ClickHouseClient, rows: readonly Buffer[], token: string): Promise<void> {
  return insertBlock(client, eventsQuery, rows, token);
}

/** As `insertEvents`. Of two values of one key the one with the later `createdAtMs` stays. */
export function insertSessionProperties(
  client: ClickHouseClient,
  rows: readonly SessionPropertyRow[],
  token: string,
): Promise<void> {
  // A whole number for a DateTime64(3) is read as milliseconds.
  const lines = rows.map(({ value, ...row }) => [
    row.websiteId,
    row.sessionId,
    row.key,
    row.createdAtMs,
    row.eventId,
    typeof value,
    typeof value === 'string' ? value : '',
    typeof value === 'string' ? 0 : Number(value),
  ]);
  return insertBlock(
    client,
    propertiesQuery,
    lines.map((line) => `${JSON.stringify(line)}\n`),
    token,
  );
}

async function insertBlock(
  client: ClickHouseClient,
  query: string,
  data: readonly (Buffer | string)[],
  token: string,
): Promise<void> {
  if (data.length === 0) return;
  const { stream } = await client.exec({
    query,
    values: Readable.from(data, { objectMode: false }),
    clickhouse_settings: { ...insertSettings, insert_deduplication_token: token },
  });
  await finished(stream.resume());
}
