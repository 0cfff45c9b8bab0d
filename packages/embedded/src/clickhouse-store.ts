import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { libchdbPath } from 'chdb/libchdb';
import { type StoreHost, storeUser } from './store-host.ts';

const engineFile = fileURLToPath(new URL('./clickhouse-engine.mjs', import.meta.url));
/** The users of a server in production. */
const usersFile = new URL('../../../infra/clickhouse/users.xml', import.meta.url);

/** Starts ClickHouse on 127.0.0.1 and returns its address. `clusterConfig`: further settings, XML. */
export function startClickHouse(host: StoreHost, clusterConfig?: string): Promise<string> {
  const { dataDir } = host;
  return host.withProgress('clickhouse', async () => {
    const directory = dataDir.makeDirectory('clickhouse');
    const configFile = dataDir.writeFile(join(directory, 'meridian.xml'), serverConfig(dataDir.password));
    // ClickHouse merges what lies in the folder of this name.
    const moreConfig = dataDir.makeDirectory(join('clickhouse', 'meridian.d'));
    dataDir.writeFile(join(moreConfig, 'users.xml'), productUsers(dataDir.password));
    if (clusterConfig) dataDir.writeFile(join(moreConfig, 'cluster.xml'), clusterConfig);
    const urlOf = (port: number) => `http://${storeUser}:${dataDir.password}@127.0.0.1:${port}`;
    const port = await host.start('clickhouse', {
      command: (port) => ({
        file: process.execPath,
        args: [engineFile, directory, String(port), configFile],
        directory,
        reads: [engineFile, libchdbPath()],
      }),
      probe: (port) => runClickHouse(urlOf(port), 'SELECT 1'),
    });
    await createClickHouseDatabase(urlOf(port), storeUser);
    return `${urlOf(port)}/${storeUser}`;
  });
}

/**
 * Settings and users for a machine that ClickHouse shares with everything else. Sizes in bytes. The engine's own
 * session is the one of the user `default`, which therefore cannot have a password and has no other rights than that
 * session needs.
 */
export function serverConfig(password: string): string {
  return `<clickhouse>
  <users_config>meridian.xml</users_config>
  <profiles><default/></profiles>
  <users>
    <default>
      <no_password/>
      <grants><query>GRANT SYSTEM LISTEN ON *.*</query><query>GRANT SELECT ON system.numbers</query></grants>
    </default>
    <${storeUser}>${passwordElement(password)}</${storeUser}>
  </users>
  <max_server_memory_usage_to_ram_ratio>0.5</max_server_memory_usage_to_ram_ratio>
  <mark_cache_size>134217728</mark_cache_size>
  <index_mark_cache_size>67108864</index_mark_cache_size>
  <primary_index_cache_size>134217728</primary_index_cache_size>
  <!-- An acknowledged insert is on the disk, as in the other two stores. -->
  <merge_tree>
    <fsync_after_insert>1</fsync_after_insert>
    <fsync_part_directory>1</fsync_part_directory>
  </merge_tree>
</clickhouse>
`;
}

/** `meridian_migrator`, `meridian_writer` and `meridian_reader`, with the one password that all stores here have. */
function productUsers(password: string): string {
  return readFileSync(usersFile, 'utf8').replace(/<password from_env="\w+"\/>/g, passwordElement(password));
}

function passwordElement(password: string): string {
  return `<password_sha256_hex>${createHash('sha256').update(password).digest('hex')}</password_sha256_hex>`;
}

/**
 * Runs one statement, in no particular database, and returns the answer as text. Throws with ClickHouse's message when
 * it is refused.
 * @param url http://[user:password@]host:port[/…]
 */
export async function runClickHouse(url: string, statement: string): Promise<string> {
  const { origin, username, password } = new URL(url);
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const response = await fetch(origin, {
    method: 'POST',
    headers: username ? { authorization: `Basic ${credentials}` } : {},
    body: statement,
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`ClickHouse: ${text.trim()}`);
  return text;
}

/** Creates the database unless it is there. */
export async function createClickHouseDatabase(url: string, database: string): Promise<void> {
  // The engine must be named: the one of the embedded default database is an overlay of several, without atomic
  // renames.
  await runClickHouse(url, `CREATE DATABASE IF NOT EXISTS ${database} ENGINE = Atomic`);
}
