import { readdir, readFile } from 'node:fs/promises';
import type { ClickHouseClient } from '@clickhouse/client';
import { createClient } from '@clickhouse/client';
import type { ClickHouseAddress } from './clickhouse-url.ts';
import { clientOptions, rowsOf } from './client.ts';
import { localName, makeDistributedTables, onCluster, readCluster } from './cluster.ts';
import { fillDifferingVisits, fillRollups } from './rollups/fill.ts';

/** After it questions may be answered from rollups. */
export const rollupsMigration = '0006_screens.sql';

export const migrationsDir = new URL('../clickhouse-migrations/', import.meta.url);

/** What a migration does beyond its statements, before it counts as applied. May be repeated. */
const completions: Record<string, (client: ClickHouseClient) => Promise<void>> = {
  '0002_site_visits.sql': fillRollups,
  [rollupsMigration]: fillDifferingVisits,
};

/** The rewriting of a big table's column goes on behind the statement; a fill is waited for, however long it takes. */
const migrationSettings = { alter_sync: '0', mutations_sync: '0' } as const;
const statementMaxMs = 6 * 3_600_000;

/**
 * Creates the database if it is missing and applies every numbered file of clickhouse-migrations/ that it has not seen,
 * in order. Every statement is written to be repeatable, so that one that was cut short may be run again. Events may
 * flow in meanwhile. Two at once may not: one would empty what the other has filled, or take away the view that the
 * other one changes; `migrate` of the registry keeps them apart. With `cluster` the tables are replicated ones on the
 * shards of a cluster, see cluster.ts; it must be the one of the first migration.
 */
export async function migrate(address: ClickHouseAddress, cluster?: string): Promise<void> {
  const on = (sql: string) => fillPlaceholders(sql, cluster);
  await createDatabase(address, on);
  const client = createClient({ ...clientOptions(address), request_timeout: statementMaxMs });
  try {
    await refuseOtherCluster(client, cluster);
    await client.command({
      query: on(
        `CREATE TABLE IF NOT EXISTS {{local:schema_migrations}} {{on_cluster}} (name String, applied_at DateTime('UTC') DEFAULT now())
         ENGINE = {{engine:ReplacingMergeTree}} ORDER BY name`,
      ),
    });
    const distribute = async () => cluster && makeDistributedTables(client, address.database, cluster);
    await distribute();
    const applied = await appliedMigrations(client);
    for (const name of await migrationNames()) {
      if (applied.has(name)) continue;
      for (const statement of splitStatements(await readFile(new URL(name, migrationsDir), 'utf8')))
        await client.command({ query: on(statement), clickhouse_settings: migrationSettings });
      await distribute();
      await completions[name]?.(client);
      await client.insert({
        table: 'schema_migrations',
        columns: ['name'],
        values: [{ name }],
        format: 'JSONEachRow',
        clickhouse_settings: { distributed_foreground_insert: 1 },
      });
    }
  } finally {
    await client.close();
  }
}

/** Whether a migration has been applied as a whole. */
export async function isApplied(client: ClickHouseClient, name: string, abort_signal: AbortSignal): Promise<boolean> {
  const answer = await client.query({
    query: 'SELECT name FROM schema_migrations WHERE name = {name:String} LIMIT 1',
    query_params: { name },
    format: 'JSONEachRow',
    abort_signal,
  });
  return (await answer.json()).length > 0;
}

/** Names of the migrations that the code brings, in the order in which they are applied. */
export async function migrationNames(): Promise<string[]> {
  return (await readdir(migrationsDir)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort();
}

/** The statements of a migration file: each ends with a semicolon at the end of its line. */
export function splitStatements(sql: string): string[] {
  return sql
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement.replace(/^--.*$/gm, '').trim() !== '');
}

/**
 * What a table remembers of blocks, on one node and on a cluster, where ClickHouse would forget tokens after an hour.
 */
const deduplicationWindow = 'non_replicated_deduplication_window = 10000';
const replicatedWindow = 'replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800';

/**
 * Where Keeper has what replicas share. Trap: the default path has a UUID in it, and a replica that is added later
 * would get another one.
 */
const replica = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'";

/** Tables and engines by name for one node; for a cluster the tables of its shards and the engines' replicated kind. */
export function fillPlaceholders(sql: string, cluster?: string): string {
  return sql
    .replaceAll('{{on_cluster}}', onCluster(cluster))
    .replaceAll('{{deduplication_window}}', cluster ? replicatedWindow : deduplicationWindow)
    .replaceAll(/\{\{local:(\w+)\}\}/g, (_, table) => localName(table, cluster))
    .replaceAll(/\{\{engine:(\w+)(?:\(([^)]*)\))?\}\}/g, (_, name, args?: string) => {
      if (!cluster) return args === undefined ? name : `${name}(${args})`;
      return `Replicated${name}(${replica}${args === undefined ? '' : `, ${args}`})`;
    });
}

/** Rows of a single node do not come to a cluster by themselves, and another cluster has others. */
export async function refuseOtherCluster(client: ClickHouseClient, cluster: string | undefined): Promise<void> {
  const [exists] = await rowsOf<{ result: number }>(client, 'EXISTS TABLE schema_migrations');
  if (exists?.result !== 1) return;
  const made = await readCluster(client);
  if (made === cluster) return;
  throw new Error(
    `The tables were made ${made ? `on the cluster ${made}` : 'on a single node'}, but CLICKHOUSE_CLUSTER ${cluster ? `is ${cluster}` : 'is not set'}`,
  );
}

async function createDatabase(address: ClickHouseAddress, on: (sql: string) => string) {
  const client = createClient(clientOptions({ ...address, database: 'default' }));
  try {
    await client.command({
      query: on(`CREATE DATABASE IF NOT EXISTS ${address.database} {{on_cluster}} ENGINE = Atomic`),
    });
  } finally {
    await client.close();
  }
}

async function appliedMigrations(client: ClickHouseClient): Promise<Set<string>> {
  const rows = await rowsOf<{ name: string }>(client, 'SELECT DISTINCT name FROM schema_migrations');
  return new Set(rows.map((row) => row.name));
}
