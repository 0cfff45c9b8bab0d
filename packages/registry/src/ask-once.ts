import pg from 'pg';
import { toRegistryError } from './registry-error.ts';

/** Rows of one question, on a connection of its own: for a command that asks once and ends. @throws RegistryError */
export async function askOnce(
  databaseUrl: string,
  question: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  try {
    return await withClient(databaseUrl, async (client) => (await client.query(question, values)).rows);
  } catch (error) {
    throw toRegistryError(error);
  }
}

/** A connection for as long as `ask` takes; rejects as the driver does. */
export async function withClient<Result>(
  databaseUrl: string,
  ask: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
  });
  client.on('error', () => {}); // also told by the rejected promise
  try {
    await client.connect();
    return await ask(client);
  } finally {
    await client.end();
  }
}
