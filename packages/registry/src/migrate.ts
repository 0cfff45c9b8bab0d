import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';

/** One number for all who migrate one database at the same time. */
const migrationLock = 0x4d52_4449;

/** Also in a bundle, which has them one folder above itself. */
export const migrationsFolder = fileURLToPath(new URL('../postgres-migrations', import.meta.url));

/** Brings the database of `databaseUrl` to the schema of this version; does nothing when it is there already. */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    // Limits that the server or the role sets are for the services: a migration may wait for a lock and take its time.
    await client.query('SET lock_timeout = 0; SET statement_timeout = 0');
    await client.query('SELECT pg_advisory_lock($1)', [migrationLock]);
    await applyMigrations(drizzle(client), { migrationsFolder });
  } finally {
    await client.end();
  }
}
