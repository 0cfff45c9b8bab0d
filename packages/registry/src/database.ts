import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';

export type Database = NodePgDatabase;

/** A connection pool for `databaseUrl` (postgres://...) and Drizzle over it. Connects at the first query. */
export function openDatabase(databaseUrl: string, options: { poolMax: number; timeoutMs: number }) {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: options.poolMax,
    application_name: 'meridian',
    keepAlive: true,
    // Who has waited for a connection for so long has been told: what he asked for is not begun any more.
    connectionTimeoutMillis: options.timeoutMs,
    // A connection that does not answer is given up, with room for the caller to have been told before.
    query_timeout: 2 * options.timeoutMs,
    statement_timeout: 2 * options.timeoutMs,
  });
  // Trap: without a listener the loss of an idle connection ends the process. The pool replaces it at the next query.
  pool.on('error', () => {});
  // Nor may the loss of one that a transaction has: its next statement fails, and tells.
  pool.on('connect', (client) => client.on('error', () => {}));
  const db = Object.assign(drizzle(pool), {
    // Trap: Drizzle's own never gives a connection back whose `begin` fails (drizzle-orm 0.45): after some lost ones
    // none was left.
    transaction: (async (ask, config) => {
      const client = await pool.connect();
      // One that failed may be in a transaction still, such as one whose `begin` was not answered in time: it is not
      // used again.
      let isDone = false;
      try {
        const result = await drizzle(client).transaction(ask, config);
        isDone = true;
        return result;
      } finally {
        client.release(!isDone);
      }
    }) satisfies Database['transaction'],
  });
  return { db, close: () => pool.end() };
}
