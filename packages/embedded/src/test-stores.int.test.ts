import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { Redis } from 'ioredis';
import pg from 'pg';
import { expect, test } from 'vitest';
import { runPostgres } from './postgres-store.ts';
import { createClickHouseDatabase, createPostgresDatabase, createRedisDatabase } from './test-stores.ts';

test('every test file gets an empty PostgreSQL database of its own', async () => {
  const [one, other] = await Promise.all([createPostgresDatabase(), createPostgresDatabase()]);
  const client = new pg.Client(one.url);
  client.on('error', () => {}); // its connection is ended by the server
  await client.connect();
  await client.query('CREATE TABLE website (id int)');
  expect(await runPostgres(other.url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);
  await one.drop(); // although a client is connected
  await other.drop();
  await client.end().catch(() => {});
});

test('every test file gets an Atomic ClickHouse database of its own', async () => {
  const { url, database, drop } = await createClickHouseDatabase();
  const client = createClient({ url, log: { level: ClickHouseLogLevel.OFF } });
  const result = await client.query({
    query: 'SELECT name, engine FROM system.databases WHERE name = currentDatabase()',
  });
  expect((await result.json()).data).toEqual([{ name: database, engine: 'Atomic' }]);
  await drop();
  await expect(client.query({ query: 'SELECT 1' })).rejects.toMatchObject({ type: 'UNKNOWN_DATABASE' });
  await client.close();
});

test('every test file gets an empty logical Redis database of its own', async () => {
  const databases = await Promise.all(Array.from({ length: 10 }, () => createRedisDatabase()));
  expect(new Set(databases.map(({ url }) => url)).size).toBe(10);
  const clients = databases.map(({ url }) => new Redis(url));
  await Promise.all(clients.map((client, i) => client.set('key', i)));
  expect(await Promise.all(clients.map((client) => client.get('key')))).toEqual([...'0123456789']);
  await Promise.all(databases.map(({ drop }) => drop()));
  expect(await Promise.all(clients.map((client) => client.dbsize()))).toEqual(databases.map(() => 0));
  for (const client of clients) client.disconnect();
});
