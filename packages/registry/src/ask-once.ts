import pg from 'pg';
import { toRegistryError } from './registry-error.ts';

/** Rows of one question, on a connection of its own: for a command that asks once and ends. @throws RegistryError */
export async function askOnce(
  databaseUrl: string,
  question: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
  });
  client.on('error', () => {}); // also told by the rejected promise
  try {
    await client.connect();
    return (await client.query(question, values)).rows;
  } catch (error) {
    throw toRegistryError(error);
  } finally {
    await client.end();
  }
}
