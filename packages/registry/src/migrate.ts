import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';

/** One number for all who migrate one database at the same time. */
const migrationLock = 0x4d52_4449;

/** Also in a bundle, which has them one folder above itself. */
export const migrationsFolder = fileURLToPath(new URL('../postgres-migrations', import.meta.url));

/**
 * Brings the database of `databaseUrl` to the schema of this version; does nothing when it is there already.
 * `alongside`: the other store's migrations, which must not be done twice at once either. One process at a time does
 * both, the others wait; one that is killed, or loses its connection, lets them on.
 * @throws Error once the connection is lost: without a code, so that nobody takes it for one that may be tried again:
 *   `alongside` goes on until the process ends
 */
export async function migrate(databaseUrl: string, alongside: () => Promise<void> = async () => {}): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000, keepAlive: true });
  await client.connect();
  // With the connection the lock is lost.
  const lost = new Promise<never>((_, reject) =>
    client.on('error', (cause) => reject(new Error('The connection was lost during the migration', { cause }))),
  );
  lost.catch(() => {});
  try {
    // Limits that the server or the role sets are for the services: a migration may wait for a lock and take its time.
    await client.query('SET lock_timeout = 0; SET statement_timeout = 0; SET idle_session_timeout = 0');
    await client.query('SELECT pg_advisory_lock($1)', [migrationLock]);
    await Promise.race([lost, bothEnd(applyMigrations(drizzle(client), { migrationsFolder }), alongside())]);
  } finally {
    await client.end();
  }
}

/** Also when one of them fails: the other one needs the lock to its end. */
async function bothEnd(...migrations: Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(migrations);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}
