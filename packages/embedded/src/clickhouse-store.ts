import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StartedStore, StoreHost } from './store-host.ts';

const engineFile = fileURLToPath(new URL('./clickhouse-engine.mjs', import.meta.url));

/** Server settings for a machine that ClickHouse shares with everything else. Sizes in bytes. */
const config = `<clickhouse>
  <max_server_memory_usage_to_ram_ratio>0.5</max_server_memory_usage_to_ram_ratio>
  <mark_cache_size>134217728</mark_cache_size>
  <index_mark_cache_size>67108864</index_mark_cache_size>
  <primary_index_cache_size>134217728</primary_index_cache_size>
</clickhouse>
`;

/** Starts ClickHouse. It has neither users nor passwords and listens on 127.0.0.1 only. */
export async function startClickHouse(host: StoreHost): Promise<StartedStore> {
  return host.withProgress('clickhouse', async () => {
    const directory = host.makeDirectory('clickhouse');
    const configFile = join(host.dataDir, 'run', 'clickhouse.xml');
    writeFileSync(configFile, config);
    const { port, stop } = await host.start('clickhouse', {
      stopSignal: 'SIGKILL', // as good as any, see clickhouse-engine.mjs
      command: (port) => ({
        file: process.execPath,
        args: [engineFile, directory, String(port), configFile],
        directory,
      }),
      probe: (port) => runClickHouse(`http://127.0.0.1:${port}`, 'SELECT 1'),
    });
    const origin = `http://127.0.0.1:${port}`;
    await createClickHouseDatabase(origin, 'meridian');
    return { url: `${origin}/meridian`, stop };
  });
}

/**
 * Runs one statement, in no particular database, and returns the answer as text. Throws with ClickHouse's message when it is refused.
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
  // The engine must be named: the one of the embedded default database is an overlay of several, without atomic renames.
  await runClickHouse(url, `CREATE DATABASE IF NOT EXISTS ${database} ENGINE = Atomic`);
}
