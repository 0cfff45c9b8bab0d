import { createClient } from '@clickhouse/client';
import type { ClickHouseAddress } from './clickhouse-url.ts';
import { clientOptions, rowsOf } from './client.ts';
import { migrationNames } from './migrate.ts';
import { rollupTables } from './rollups/repair.ts';
import { toReadError } from './warehouse-error.ts';

export type ClickHouseState = {
  /** Such as 26.7.1.1 */
  version: string;
  /** Migrations of this version that the database has not seen, by name. */
  missingMigrations: string[];
  /** Whether it has seen a migration that this version does not know. */
  isNewer: boolean;
  /** Views that fill the rollups, and are not there, by name. */
  missingViews: string[];
  /** Whether what is inserted is on the disk before the insert is acknowledged. */
  syncsInserts: boolean;
};

/** Asks the server; the database need not be there. */
export async function readClickHouseState(address: ClickHouseAddress): Promise<ClickHouseState> {
  const client = createClient(clientOptions({ ...address, database: 'default' }));
  const ask = <Row>(query: string) => rowsOf<Row>(client, query, { database: address.database });
  try {
    const [server] = await ask<{ version: string }>('SELECT version() AS version');
    const [table] = await ask(
      `SELECT name FROM system.tables WHERE database = {database:String} AND name = 'schema_migrations'`,
    );
    const applied = table
      ? await ask<{ name: string }>('SELECT name FROM {database:Identifier}.schema_migrations')
      : [];
    const views = await ask<{ name: string }>(
      `SELECT name FROM system.tables WHERE database = {database:String} AND engine = 'MaterializedView'`,
    );
    const syncing = await ask(
      `SELECT name FROM system.merge_tree_settings WHERE name = 'fsync_after_insert' AND value = '1'`,
    );
    const known = await migrationNames();
    const names = (rows: { name: string }[]) => rows.map(({ name }) => name);
    const [appliedNames, viewNames] = [names(applied), names(views)];
    return {
      version: server?.version ?? '',
      missingMigrations: known.filter((name) => !appliedNames.includes(name)),
      isNewer: appliedNames.some((name) => !known.includes(name)),
      missingViews: rollupTables.map((table) => `${table}_mv`).filter((view) => !viewNames.includes(view)),
      syncsInserts: syncing.length > 0,
    };
  } catch (error) {
    throw toReadError(error);
  } finally {
    await client.close();
  }
}
