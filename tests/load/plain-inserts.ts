import { randomUUID } from 'node:crypto';
import type { LoadStores } from './load-stores.ts';

/**
 * Inserts the stored events once more as a client does that does nothing else: in blocks of `blockRows`, one after the
 * other, encoded beforehand. `insert` gives the seconds that it took.
 */
export async function createPlainInserts({ clickhouse }: LoadStores, blockRows: number) {
  const columns = await clickhouse({
    query: `SELECT arrayStringConcat(groupArray(name), ', ') FROM system.columns
      WHERE database = currentDatabase() AND table = 'events' AND default_kind = ''`,
  });
  const names = columns.toString().trim();
  const rows = Number(await clickhouse({ query: 'SELECT count() FROM events' }));
  const blocks: Buffer<ArrayBuffer>[] = [];
  for (let start = 0; start < rows; start += blockRows) {
    const query = `SELECT ${names} FROM events ORDER BY event_id LIMIT ${blockRows} OFFSET ${start} FORMAT RowBinary`;
    blocks.push(await clickhouse({ query }));
  }
  return {
    rows,
    async insert(): Promise<number> {
      const startedAtMs = performance.now();
      for (const block of blocks) {
        await clickhouse(
          {
            query: `INSERT INTO events (${names}) FORMAT RowBinary`,
            insert_deduplication_token: randomUUID(),
            async_insert: '0',
            deduplicate_blocks_in_dependent_materialized_views: '1',
            wait_end_of_query: '1',
          },
          block,
        );
      }
      return (performance.now() - startedAtMs) / 1_000;
    },
  };
}
