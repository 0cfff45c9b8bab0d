import type { ClickHouseClient } from '@clickhouse/client';
import { rowsOf } from './client.ts';

/*
 * On a cluster the rows of a website lie on one shard, by cityHash64(website_id): in the replicated table
 * `<name>_local`, whose views fill rollups of the same shard. Questions and inserts go to the Distributed table that
 * bears the plain name. On a single node there is only the plain one.
 */

const ending = '_local';

/** The table that holds the rows. `cluster`: undefined on a single node. */
export const localName = (table: string, cluster: string | undefined): string => (cluster ? table + ending : table);

/** The plain names in a text that names tables that hold rows, such as a view's definition. */
export const withPlainNames = (sql: string, tables: readonly string[], cluster: string | undefined): string =>
  cluster ? tables.reduce((text, table) => text.replaceAll(table + ending, table), sql) : sql;

/** For statements that every node has to run. */
export const onCluster = (cluster: string | undefined): string => (cluster ? `ON CLUSTER '${cluster}'` : '');

/** A system table as all nodes have it. */
export const systemTable = (name: 'processes' | 'parts', cluster: string | undefined): string =>
  cluster ? `clusterAllReplicas('${cluster}', system.${name})` : `system.${name}`;

/**
 * The cluster on which the schema was made, by its Distributed tables; undefined on a single node, or before the first
 * migration.
 */
export async function readCluster(client: ClickHouseClient): Promise<string | undefined> {
  const [row] = await rowsOf<{ cluster: string }>(
    client,
    `SELECT extract(engine_full, '^Distributed\\(\\'([^\\']+)') AS cluster FROM system.tables
      WHERE database = currentDatabase() AND name = 'schema_migrations'`,
  );
  return row?.cluster || undefined;
}

/**
 * Makes the Distributed table of every table that holds rows, as this has its columns now, and removes those whose
 * table is gone.
 */
export async function makeDistributedTables(
  client: ClickHouseClient,
  database: string,
  cluster: string,
): Promise<void> {
  const [held, distributed] = await Promise.all([
    namesOf(client, `endsWith(name, '${ending}')`),
    namesOf(client, "engine = 'Distributed'"),
  ]);
  for (const local of held) {
    const name = local.slice(0, -ending.length);
    const key = name === 'schema_migrations' ? 'name' : 'website_id';
    await client.command({
      query: `CREATE OR REPLACE TABLE ${name} ${onCluster(cluster)} AS ${database}.${local}
        ENGINE = Distributed('${cluster}', '${database}', '${local}', cityHash64(${key}))`,
    });
  }
  for (const name of distributed.filter((name) => !held.includes(name + ending)))
    await client.command({ query: `DROP TABLE IF EXISTS ${name} ${onCluster(cluster)}` });
}

/** Resolves when every replica has all rows that any of them had at the moment of the call. */
export async function untilReplicated(
  client: ClickHouseClient,
  tables: readonly string[],
  cluster: string | undefined,
): Promise<void> {
  if (!cluster) return;
  for (const table of tables)
    await client.command({
      query: `SYSTEM SYNC REPLICA ${onCluster(cluster)} ${localName(table, cluster)} LIGHTWEIGHT`,
    });
}

async function namesOf(client: ClickHouseClient, condition: string): Promise<string[]> {
  const tables = `SELECT name FROM system.tables WHERE database = currentDatabase() AND ${condition} ORDER BY name`;
  return (await rowsOf<{ name: string }>(client, tables)).map(({ name }) => name);
}
