import pg from 'pg';
import { toRegistryError } from './registry-error.ts';
import { repeatRemovalsSql } from './repeat-removals.ts';
import { findLastMigration, readMigrations } from './server-state.ts';
import { readSnapshotText, SnapshotError, type SnapshotHead, writeSnapshotText } from './snapshot-format.ts';

/** All tables, each behind those that it refers to. */
export const snapshotTables = [
  ...['user_account', 'ended_session', 'api_key', 'team', 'team_user'],
  ...['website', 'segment', 'share', 'audit_entry'],
];

const rowsAtOnce = 1_000;
/** Characters of rows in one insert. */
const insertMax = 4_000_000;
const lockMaxMs = 30_000;
/** Data that cannot be written: classes of Postgres's codes for values, constraints. */
const refusedData = /^(22|23)/;

/**
 * Takes a snapshot of all tables as of one moment, while others write, and hands its text to `write`. The schema may be
 * that of an earlier version.
 * @throws SnapshotError when the schema is none that this version knows; RegistryError; what `write` throws
 */
export async function takeSnapshot(
  databaseUrl: string,
  takenAt: Date,
  write: (text: AsyncIterable<string>) => Promise<void>,
): Promise<SnapshotHead> {
  return inSession(databaseUrl, async (client) => {
    await ask(client, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const schema = (await readSchema(client)).last;
    if (schema === null) throw new SnapshotError('The registry has no tables yet, there is nothing to back up.');
    const tables: Record<string, number> = {};
    for (const table of snapshotTables) {
      const [found] = await ask(client, 'SELECT to_regclass($1) IS NOT NULL AS is_there', [table]);
      if (!found?.is_there) continue; // a later migration makes it
      const [counted] = await ask(client, `SELECT count(*) AS rows FROM ${table}`);
      tables[table] = Number(counted?.rows);
    }
    const head = { takenAt: takenAt.toISOString(), schema, tables };
    await write(writeSnapshotText(head, (table) => rowsOf(client, table)));
    return head;
  });
}

/**
 * Puts a snapshot into an empty registry that has its schema: all of it or nothing. Removals of what was deleted or
 * reset are ordered again: the other store may have been restored as of an earlier moment. `dryRun`: all of it is
 * tried, and nothing kept.
 * @throws SnapshotError when the snapshot is not whole, or the registry not empty or of another schema; RegistryError;
 * what `bytes` throws
 */
export async function restoreSnapshot(
  databaseUrl: string,
  bytes: AsyncIterable<Uint8Array>,
  { dryRun = false } = {},
): Promise<SnapshotHead> {
  const { head, rowsOf, verifyEnd } = await readSnapshotText(bytes);
  return inSession(databaseUrl, async (client) => {
    await ask(client, 'BEGIN');
    await requireSchema(client, head);
    await ask(client, `LOCK TABLE ${snapshotTables.join(', ')} IN SHARE ROW EXCLUSIVE MODE`);
    await requireEmpty(client);
    // The links of a website are in the snapshot; the trigger would make them a second time.
    await ask(client, 'ALTER TABLE website DISABLE TRIGGER keep_shares');
    for (const table of Object.keys(head.tables)) await insertRows(client, table, rowsOf(table));
    await verifyEnd();
    await ask(client, 'ALTER TABLE website ENABLE TRIGGER keep_shares');
    await ask(client, repeatRemovalsSql, [null]);
    await continueAuditIds(client);
    await ask(client, dryRun ? 'ROLLBACK' : 'COMMIT');
    return head;
  });
}

/**
 * A connection of its own without limits of time: a disk may be slow. What is not committed when `work` ends is undone.
 */
async function inSession<Value>(databaseUrl: string, work: (client: pg.Client) => Promise<Value>): Promise<Value> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'meridian',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  client.on('error', () => {}); // told by the next query
  try {
    await client.connect().catch((error: unknown) => {
      throw toRegistryError(error);
    });
    await ask(
      client,
      `SET TimeZone = 'UTC'; SET bytea_output = 'hex'; SET lock_timeout = ${lockMaxMs}; SET statement_timeout = 0;
       SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0`,
    );
    return await work(client);
  } finally {
    await client.end();
  }
}

async function ask(client: pg.Client, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  try {
    return (await client.query(text, values)).rows;
  } catch (error) {
    throw toRegistryError(error);
  }
}

/** The last migration that the database has seen; null: none. `missing`: those of this version that it has not seen. */
async function readSchema(client: pg.Client): Promise<{ last: string | null; missing: string[]; names: string[] }> {
  const lastAppliedAt = await findLastMigration(client).catch((error: unknown) => {
    throw toRegistryError(error);
  });
  const migrations = await readMigrations();
  const last = migrations.find(({ when }) => when === lastAppliedAt)?.tag ?? null;
  if (last === null && lastAppliedAt > 0)
    throw new SnapshotError('The registry has the schema of a later version: use the command of that version.');
  const missing = migrations.filter(({ when }) => when > lastAppliedAt).map(({ tag }) => tag);
  return { last, missing, names: migrations.map(({ tag }) => tag) };
}

async function requireSchema(client: pg.Client, head: SnapshotHead): Promise<void> {
  const { last, missing, names } = await readSchema(client);
  if (missing.length > 0)
    throw new SnapshotError('The registry does not have the schema of this version. Run: meridian migrate');
  if (head.schema === last) return;
  const whose = names.includes(head.schema) ? 'an earlier version' : 'a later version';
  throw new SnapshotError(
    `The backup has the schema of ${whose} (${head.schema}; this one's is ${last}). Migrate an empty database and restore with the ` +
      'command of the version that made the backup; then migrate with this one.',
  );
}

async function requireEmpty(client: pg.Client): Promise<void> {
  const filled: string[] = [];
  for (const table of snapshotTables)
    if ((await ask(client, `SELECT FROM ${table} LIMIT 1`)).length > 0) filled.push(table);
  if (filled.length > 0)
    throw new SnapshotError(
      `The registry is not empty (${filled.join(', ')}). Restore into a database that was just migrated, before a service starts on it.`,
    );
}

/** Rows as JSON text, which holds every value as Postgres wrote it. */
async function* rowsOf(client: pg.Client, table: string): AsyncGenerator<string[]> {
  await ask(client, `DECLARE snapshot_rows NO SCROLL CURSOR FOR SELECT row_to_json(t)::text AS row FROM ${table} AS t`);
  for (;;) {
    const rows = await ask(client, `FETCH ${rowsAtOnce} FROM snapshot_rows`);
    if (rows.length === 0) break;
    yield rows.map(({ row }) => String(row));
  }
  await ask(client, 'CLOSE snapshot_rows');
}

async function insertRows(client: pg.Client, table: string, rows: AsyncIterable<string>): Promise<void> {
  if (!snapshotTables.includes(table)) throw new SnapshotError(`The backup is damaged: there is no table ${table}.`);
  let waiting: string[] = [];
  let length = 0;
  const insert = async (): Promise<void> => {
    const all = `[${waiting.join(',')}]`;
    waiting = [];
    length = 0;
    await ask(
      client,
      `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $1)`,
      [all],
    ).catch((error: unknown) => {
      const { cause } = toRegistryError(error);
      if (!(cause instanceof pg.DatabaseError) || !refusedData.test(cause.code ?? '')) throw error;
      throw new SnapshotError(`The backup is damaged: a row of ${table} cannot be written (${cause.code}).`);
    });
  };
  for await (const row of rows) {
    waiting.push(row);
    length += row.length;
    if (waiting.length === rowsAtOnce || length > insertMax) await insert();
  }
  if (waiting.length > 0) await insert();
}

async function continueAuditIds(client: pg.Client): Promise<void> {
  const [found] = await ask(client, 'SELECT max(id) + 1 AS next FROM audit_entry');
  if (found?.next === null || found?.next === undefined) return;
  // No setval: that would stay when the transaction is undone.
  await ask(client, `ALTER TABLE audit_entry ALTER COLUMN id RESTART WITH ${BigInt(String(found.next))}`);
}
