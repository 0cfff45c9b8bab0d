import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { withClient } from './ask-once.ts';
import { migrationsFolder } from './migrate.ts';

export type PostgresState = {
  /** Such as 18.4 */
  version: string;
  /** Migrations of this version that the database has not seen, by name. */
  missingMigrations: string[];
  /** The database has seen migrations that this version does not know. */
  isNewer: boolean;
};

/** Asks the server on a connection of its own; rejects when it cannot be reached. */
export async function readPostgresState(databaseUrl: string): Promise<PostgresState> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query('SHOW server_version');
    const lastAppliedAt = await findLastMigration(client);
    const entries = await readMigrations();
    return {
      version: String(rows[0]?.server_version),
      missingMigrations: entries.filter(({ when }) => when > lastAppliedAt).map(({ tag }) => tag),
      isNewer: entries.every(({ when }) => when < lastAppliedAt),
    };
  });
}

/** The migrations of this version, the first one first: their names, and when they were made, Unix ms. */
export async function readMigrations(): Promise<{ when: number; tag: string }[]> {
  return JSON.parse(await readFile(join(migrationsFolder, 'meta', '_journal.json'), 'utf8')).entries;
}

/** Migrations are told apart by when they were made, Unix ms; 0 when there was none. */
export async function findLastMigration(client: pg.Client): Promise<number> {
  const table = await client.query(`SELECT to_regclass('drizzle.__drizzle_migrations') IS NOT NULL AS is_there`);
  if (!table.rows[0]?.is_there) return 0;
  const { rows } = await client.query('SELECT max(created_at) AS last FROM drizzle.__drizzle_migrations');
  return Number(rows[0]?.last ?? 0);
}
