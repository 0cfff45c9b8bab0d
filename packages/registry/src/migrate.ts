import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';

/** One number for all who migrate one database at the same time. */
const migrationLock = 0x4d52_4449;

/** Brings the database of `databaseUrl` to the schema of this version; does nothing when it is there already. */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = postgres(databaseUrl, { max: 1, connect_timeout: 5, onnotice: () => {} });
  try {
    await client`select pg_advisory_lock(${migrationLock})`;
    const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url));
    await applyMigrations(drizzle(client), { migrationsFolder });
  } finally {
    await client.end({ timeout: 5 });
  }
}
