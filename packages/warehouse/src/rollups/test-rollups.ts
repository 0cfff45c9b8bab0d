import { createClient } from '@clickhouse/client';
import { parseClickHouseUrl } from '../clickhouse-url.ts';
import { clientOptions } from '../client.ts';
import type { RollupTable } from './parts.ts';
import { rollupTables } from './repair.ts';

/** Counts that were put right may leave rows of zero, which say nothing. */
const saySomething: Partial<Record<RollupTable, string>> = {
  site_15m: 'WHERE pageviews != 0 OR custom_events != 0',
  site_texts: 'WHERE events != 0',
};

/**
 * For tests: the rows in which rollups differ from what their own views make of the events that are there, as
 * `+ table {…}` when only the rollup has the row, as `- table {…}` when only the events tell it; ten of each kind at
 * most. Of one website, or of all.
 */
export async function findWrongRows(clickhouseUrl: string, websiteId?: string): Promise<string[]> {
  const client = createClient(clientOptions(parseClickHouseUrl(clickhouseUrl)));
  const linesOf = async (query: string) =>
    (await (await client.query({ query, format: 'TabSeparatedRaw' })).text()).split('\n').filter((line) => line !== '');
  const ofWebsite = websiteId ? `WHERE website_id = '${websiteId}'` : '';
  try {
    const wrong: string[] = [];
    for (const table of rollupTables) {
      const view = `SELECT as_select FROM system.tables WHERE database = currentDatabase() AND name = '${table}_mv'`;
      const fresh = `(SELECT * FROM (${(await linesOf(view)).join('\n')}) ${ofWebsite})`;
      const stored = `(SELECT * FROM (SELECT * FROM ${table} FINAL ${saySomething[table] ?? ''}) ${ofWebsite})`;
      const rowOf = (sign: string, rows: string) =>
        `SELECT substringUTF8(concat('${sign} ${table} ', formatRowNoNewline('JSONEachRow', *)), 1, 400) FROM (${rows}) LIMIT 10`;
      wrong.push(
        ...(await linesOf(rowOf('+', `${stored} EXCEPT ${fresh}`))),
        ...(await linesOf(rowOf('-', `${fresh} EXCEPT ${stored}`))),
      );
    }
    return wrong;
  } finally {
    await client.close();
  }
}
