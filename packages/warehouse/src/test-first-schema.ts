import { readFile } from 'node:fs/promises';
import { createClient } from '@clickhouse/client';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { clientOptions } from './client.ts';
import { fillPlaceholders, migrationsDir, splitStatements } from './migrate.ts';

const name = '0001_events.sql';

/** For tests of migrations: brings an empty database to what it was before the second one. */
export async function applyFirstSchema(clickhouseUrl: string): Promise<void> {
  const client = createClient(clientOptions(parseClickHouseUrl(clickhouseUrl)));
  const sql = await readFile(new URL(name, migrationsDir), 'utf8');
  const notes = `CREATE TABLE schema_migrations (name String, applied_at DateTime('UTC') DEFAULT now())
    ENGINE = {{engine:ReplacingMergeTree}} ORDER BY name`;
  for (const statement of [...splitStatements(sql), notes, `INSERT INTO schema_migrations (name) VALUES ('${name}')`])
    await client.command({ query: fillPlaceholders(statement) });
  await client.close();
}
