import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ClickHouseClient } from '@clickhouse/client';
import { type EventRow, eventColumns, type SessionPropertyRow } from './event-row.ts';
import { toWriteError } from './warehouse-error.ts';

/** Rows that are turned into text in one go: few enough that the event loop stays free. */
const ROWS_PER_CHUNK = 500;

/**
 * One insert = one block = one unit of deduplication, in the table and in every view.
 * Trap: without a token ClickHouse deduplicates by content, and two honest identical batches become one.
 * Trap: with a limit on partitions per block a view may refuse a block whose base rows are stored already; so there is none.
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
} as const;

const eventFields = Object.values(eventColumns);

/** The field `created_at` is sent as milliseconds: ClickHouse reads a whole number for a DateTime64(3) as just that. */
export function insertEvents(client: ClickHouseClient, rows: readonly EventRow[], token: string): Promise<void> {
  return insertBlock(client, 'events', Object.keys(eventColumns), rows, token, (row) =>
    eventFields.map((field) => row[field]),
  );
}

/** Of two values of one key the one with the later `createdAtMs` stays. */
export function insertSessionProperties(
  client: ClickHouseClient,
  rows: readonly SessionPropertyRow[],
  token: string,
): Promise<void> {
  const columns = [
    'website_id',
    'session_id',
    'property_key',
    'created_at',
    'event_id',
    'value_type',
    'string_value',
    'number_value',
  ];
  return insertBlock(client, 'session_properties', columns, rows, token, ({ value, ...row }) => [
    row.websiteId,
    row.sessionId,
    row.key,
    row.createdAtMs,
    row.eventId,
    typeof value,
    typeof value === 'string' ? value : '',
    typeof value === 'string' ? 0 : Number(value),
  ]);
}

async function insertBlock<Row>(
  client: ClickHouseClient,
  table: string,
  columns: string[],
  rows: readonly Row[],
  token: string,
  toValues: (row: Row) => unknown[],
): Promise<void> {
  if (rows.length === 0) return;
  try {
    const { stream } = await client.exec({
      query: `INSERT INTO ${table} (${columns.join(', ')}) FORMAT JSONCompactEachRow`,
      values: Readable.from(encoded(rows, toValues), { objectMode: false }),
      clickhouse_settings: { ...insertSettings, insert_deduplication_token: token },
    });
    await finished(stream.resume());
  } catch (error) {
    throw toWriteError(error);
  }
}

function* encoded<Row>(rows: readonly Row[], toValues: (row: Row) => unknown[]) {
  for (let start = 0; start < rows.length; start += ROWS_PER_CHUNK) {
    const chunk = rows.slice(start, start + ROWS_PER_CHUNK).map(toValues);
    yield `${JSON.stringify(chunk).slice(1, -1)}\n`; // rows are parted by commas then; one call costs less than one for each row
  }
}
