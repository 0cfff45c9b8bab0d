import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';

export type Database = PostgresJsDatabase;

/** A connection pool for `databaseUrl` (postgres://...) and Drizzle over it. Connects at the first query. */
export function openDatabase(databaseUrl: string, poolMax: number) {
  const client = postgres(databaseUrl, {
    max: poolMax,
    connect_timeout: 5,
    connection: { application_name: 'meridian', statement_timeout: 30_000 },
    onnotice: () => {},
  });
  return { db: drizzle(client) as Database, close: () => client.end({ timeout: 5 }) };
}
