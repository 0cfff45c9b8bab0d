import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { DataDirInUseError } from './data-dir-lock.ts';
import { freePort } from './ports.ts';
import { removeStores, type Stores, type StoresOptions, startStores } from './stores.ts';

/** Failures are what these tests are about. */
const log = { level: ClickHouseLogLevel.OFF };

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test('what was stored is there after a stop and a start, under the same addresses', async () => {
  const dataDir = makeDataDir();
  const first = await start({ dataDir });
  const writers = openWriters(first);
  await Promise.all(writers.map(({ write }) => write(1)));
  await closeAll(writers);
  await first.stop();
  const second = await start({ dataDir });
  expect({ ...second, stop: undefined }).toEqual({ ...first, stop: undefined });
  const readers = openWriters(second);
  expect(await Promise.all(readers.map(({ read }) => read()))).toEqual([[1], [1], [1]]);
  await closeAll(readers);
});

test('a store that is killed comes back on its port and has all that it acknowledged', async () => {
  const dataDir = makeDataDir();
  const deaths: string[] = [];
  const stores = await start({ dataDir, log: (message) => deaths.push(message) });
  const writers = openWriters(stores);
  await Promise.all(
    writers.map(async ({ store, write, read }) => {
      const acknowledged: number[] = [];
      const writeUntil = async (count: number) => {
        while (acknowledged.length < count) {
          await untilAccepted(() => write(acknowledged.length));
          acknowledged.push(acknowledged.length);
        }
      };
      for (const count of [20, 40]) {
        const writing = writeUntil(count);
        await vi.waitUntil(() => acknowledged.length > count - 10, 60_000);
        process.kill(JSON.parse(readFileSync(join(dataDir, 'run', `${store}.pid`), 'utf8')).pid, 'SIGKILL');
        await writing;
      }
      // The last writes may have been acknowledged by the store that was about to die.
      expect(await untilAccepted(read)).toEqual(acknowledged);
    }),
  );
  await closeAll(writers);
  expect(deaths.map((message) => message.split(' ')[0]).sort()).toEqual(
    ['PostgreSQL', 'ClickHouse', 'Redis'].flatMap((name) => [name, name]).sort(),
  );
});

test('stores run side by side, also below a directory that is closed to others, and stop leaves no process', async () => {
  const openDir = makeDataDir();
  const closed = mkdtempSync(join(tmpdir(), 'meridian-embedded-')); // of mode 0700
  cleanups.push(async () => rmSync(closed, { recursive: true }));
  const closedDir = join(closed, 'data');
  const [one, other] = await Promise.all([start({ dataDir: openDir }), start({ dataDir: closedDir })]);
  const [oneWriters, otherWriters] = [openWriters(one), openWriters(other)];
  await Promise.all([...oneWriters.map(({ write }) => write(1)), ...otherWriters.map(({ write }) => write(2))]);
  expect(await Promise.all(oneWriters.map(({ read }) => read()))).toEqual([[1], [1], [1]]);
  expect(await Promise.all(otherWriters.map(({ read }) => read()))).toEqual([[2], [2], [2]]);
  await closeAll([...oneWriters, ...otherWriters]);
  for (const dataDir of [openDir, closedDir]) expect(processesIn(dataDir).length).toBeGreaterThan(3);
  await Promise.all([one.stop(), other.stop()]);
  for (const dataDir of [openDir, closedDir]) expect(processesIn(dataDir)).toEqual([]);
});

test('a second start on the same data is refused and names the process that has it', async () => {
  const given = { databaseUrl: 'postgres://given/meridian', clickhouseUrl: 'http://given', redisUrl: 'redis://given' };
  const dataDir = makeDataDir();
  const stores = await start({ dataDir, ...given });
  const second = startStores({ dataDir, ...given });
  await expect(second).rejects.toThrow(DataDirInUseError);
  await expect(second).rejects.toThrow(`in use by process ${process.pid}`);
  await stores.stop();
  await start({ dataDir, ...given });
});

test('a store whose address is given is not started, a port that is given is used', async () => {
  const dataDir = makeDataDir();
  const given = { databaseUrl: 'postgres://given/meridian', clickhouseUrl: 'http://given' };
  const port = await freePort();
  const stores = await start({ dataDir, ...given, ports: { redis: port } });
  expect(stores).toMatchObject(given);
  expect(new URL(stores.redisUrl).port).toBe(String(port));
  expect(processesIn(dataDir).length).toBe(1);
  const other = startStores({ dataDir: makeDataDir(), ...given, ports: { redis: port } });
  await expect(other).rejects.toThrow(`Port ${port} for Redis is taken.`);
});

test('of the stores only those start that are wanted, and no address of another one is noted', async () => {
  const dataDir = makeDataDir();
  const stores = await start({ dataDir, only: ['redis'] });
  expect(stores).toMatchObject({ databaseUrl: '', clickhouseUrl: '' });
  expect(processesIn(dataDir).length).toBe(1);
  const noted = JSON.parse(readFileSync(join(dataDir, 'run', 'stores.json'), 'utf8'));
  expect(noted).toEqual({ redisUrl: stores.redisUrl });
});

test('a store asks for the password', async () => {
  const stores = await start({ dataDir: makeDataDir() });
  const database = new pg.Client(withoutPassword(stores.databaseUrl));
  await expect(database.connect()).rejects.toThrow(/password/);
  const clickhouse = createClient({ url: withoutPassword(stores.clickhouseUrl), log });
  await expect(clickhouse.query({ query: 'SELECT 1' })).rejects.toThrow(/Authentication failed/);
  const anonymous = createClient({ url: new URL(stores.clickhouseUrl).origin, log });
  await expect(anonymous.command({ query: 'DROP DATABASE meridian' })).rejects.toThrow(/Not enough privileges/);
  const redis = new Redis(withoutPassword(stores.redisUrl));
  redis.on('error', () => {});
  await expect(redis.get('key')).rejects.toThrow(/NOAUTH/);
  redis.disconnect();
  await Promise.all([database.end(), clickhouse.close(), anonymous.close()]);
});

/** A new directory that everybody may enter; deleted after the test. */
function makeDataDir(): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'meridian-embedded-'));
  chmodSync(dataDir, 0o755);
  cleanups.push(() => removeStores(dataDir));
  return dataDir;
}

async function start(options: StoresOptions): Promise<Stores> {
  const stores = await startStores(options);
  cleanups.push(() => stores.stop());
  return stores;
}

type Writer = {
  store: 'postgres' | 'clickhouse' | 'redis';
  /** Stores the number; may be repeated. Rejects when it is not known to be stored. */
  write(number: number): Promise<unknown>;
  /** All stored numbers, in order. */
  read(): Promise<number[]>;
  close(): Promise<unknown>;
};

function openWriters({ databaseUrl, clickhouseUrl, redisUrl }: Stores): Writer[] {
  const postgres = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  postgres.on('error', () => {});
  const clickhouse = createClient({ url: clickhouseUrl, log });
  const redis = new Redis(redisUrl);
  redis.on('error', () => {});
  return [
    {
      store: 'postgres',
      write: async (number) => {
        await postgres.query('CREATE TABLE IF NOT EXISTS number (number int PRIMARY KEY)');
        await postgres.query('INSERT INTO number VALUES ($1) ON CONFLICT DO NOTHING', [number]);
      },
      read: async () =>
        (await postgres.query('SELECT number FROM number ORDER BY number')).rows.map((row) => row.number),
      close: () => postgres.end(),
    },
    {
      store: 'clickhouse',
      write: async (number) => {
        await clickhouse.command({
          query: `CREATE TABLE IF NOT EXISTS number (number Int32) ENGINE = MergeTree ORDER BY number
            SETTINGS non_replicated_deduplication_window = 100`,
        });
        await clickhouse.insert({
          table: 'number',
          values: [[number]],
          format: 'JSONCompactEachRow',
          clickhouse_settings: { insert_deduplication_token: `token ${number}` },
        });
      },
      read: async () => {
        const answer = await clickhouse.query({
          query: 'SELECT number FROM number ORDER BY number',
          format: 'JSONCompact',
        });
        return (await answer.json<[number]>()).data.map(([number]) => number);
      },
      close: () => clickhouse.close(),
    },
    {
      store: 'redis',
      write: (number) => redis.zadd('number', String(number), String(number)),
      read: async () => (await redis.zrange('number', '0', '-1')).map(Number),
      close: async () => redis.disconnect(),
    },
  ];
}

const closeAll = (writers: Writer[]) => Promise.all(writers.map(({ close }) => close()));

async function untilAccepted<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await ask();
    } catch {
      await sleep(20);
    }
  }
}

/** Ids of the processes that work in the directory. */
function processesIn(directory: string): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return readlinkSync(`/proc/${name}/cwd`).startsWith(directory);
    } catch {
      return false; // no process, or gone
    }
  });
}

function withoutPassword(address: string): string {
  const url = new URL(address);
  url.password = '';
  return url.href;
}
