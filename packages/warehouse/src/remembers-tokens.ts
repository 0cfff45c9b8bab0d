import type { ClickHouseClient } from '@clickhouse/client';
import { rowsOf } from './client.ts';
import { localName, readCluster, systemTable } from './cluster.ts';
import { rollupTables } from './rollups/repair.ts';

/**
 * A table remembers the tokens of its last 10,000 parts (migrate.ts), and a block makes one in each of its partitions:
 * of 27 years 1,400 in a table of weeks. Half of them leaves room for what is being stored.
 */
const partsRememberedMax = 5_000;
/**
 * ClickHouse knows for 120 s what parts it had that are merged into others by now (migration 0007): for so long, and
 * for what the clocks may differ by.
 */
const partsKnownMs = 90_000;
/** Between the clocks of Redis, which `sinceMs` is of, of ClickHouse and of this process. */
const clockDifferenceMaxMs = 30_000;
/** Where a block of events goes, by itself and by its views. */
const tables = ['events', ...rollupTables];

/** `unknown`: a table may have got more parts since then than are seen now. */
export type TokensRemembered = 'yes' | 'no' | 'unknown';

/**
 * Whether ClickHouse remembers the token of every block of events that was stored since then (Unix ms), in every table:
 * such a block may be sent again.
 */
export async function remembersTokensSince(
  client: ClickHouseClient,
  sinceMs: number,
  { partsMax = partsRememberedMax }: { partsMax?: number } = {},
): Promise<TokensRemembered> {
  const nowMs = Date.now();
  if (sinceMs > nowMs + clockDifferenceMaxMs) return 'unknown'; // a clock has stepped back: it was at any time before
  const knownSinceMs = Math.max(sinceMs, nowMs - partsKnownMs);
  const cluster = await readCluster(client);
  // What is stored is of one block. Trap: its level is 1 in a table that merges rows.
  const [row] = await rowsOf<{ most: string }>(
    client,
    `SELECT max(parts) AS most FROM (SELECT count() AS parts FROM ${systemTable('parts', cluster)}
      WHERE database = currentDatabase() AND table IN {tables:Array(String)} AND min_block_number = max_block_number AND modification_time >= fromUnixTimestamp64Milli({since:Int64})
      GROUP BY hostName(), table)`,
    { since: knownSinceMs - clockDifferenceMaxMs, tables: tables.map((table) => localName(table, cluster)) },
  );
  // Of what is not known any more, as many as of the rest.
  const share = knownSinceMs > sinceMs ? (nowMs - sinceMs) / partsKnownMs : 1;
  if (Number(row?.most ?? 0) * share > partsMax) return 'no';
  return knownSinceMs === sinceMs ? 'yes' : 'unknown';
}
