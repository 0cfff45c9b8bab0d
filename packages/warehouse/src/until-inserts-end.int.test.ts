import { Readable } from 'node:stream';
import { createClient } from '@clickhouse/client';
import { expect, test, vi } from 'vitest';
import { createTestWarehouse } from './test-warehouse.ts';
import { untilInsertsEnd } from './until-inserts-end.ts';
import { createWarehouse } from './warehouse.ts';

const { client, database } = await createTestWarehouse();
await client.command({ query: 'CREATE TABLE slow (n UInt8, text String) ENGINE = MergeTree ORDER BY n' });

/**
 * An insert that ClickHouse runs until it is told that there are no more rows. It begins when a first megabyte has
 * come.
 */
async function beginInsert(n: number): Promise<{ end(): Promise<void> }> {
  const queryId = crypto.randomUUID();
  const rows = new Readable({ objectMode: true, read() {} });
  const inserted = client.insert({ table: 'slow', values: rows, format: 'JSONEachRow', query_id: queryId });
  rows.push({ n, text: 'x'.repeat(2_000_000) });
  const running = `SELECT count() FROM system.processes WHERE query_id = '${queryId}'`;
  await expect.poll(() => scalar(running)).toBe('1');
  return {
    async end() {
      rows.push(null);
      await inserted;
    },
  };
}

async function scalar(query: string): Promise<string> {
  return (await (await client.query({ query, format: 'TabSeparated' })).text()).trim();
}

const storedRows = (n: number) => scalar(`SELECT count() FROM slow WHERE n = ${n}`);

test('an insert that is under way is waited for, and what it stored is seen afterwards', async () => {
  const insert = await beginInsert(1);
  const asker = createClient({ url: database.url });
  const questions = vi.spyOn(asker, 'query');
  let stored: Promise<string> | undefined;
  const waiting = untilInsertsEnd(asker).then(() => {
    stored = storedRows(1);
  });
  await expect.poll(() => questions.mock.calls.length).toBeGreaterThan(3);
  expect(stored).toBeUndefined();
  await insert.end();
  await waiting;
  expect(await stored).toBe('1');
  await asker.close();
});

test('an insert that begins later is not waited for: others that follow one another without a pause keep nobody', async () => {
  const first = await beginInsert(2);
  const asker = createClient({ url: database.url });
  const questions = vi.spyOn(asker, 'query');
  const waiting = untilInsertsEnd(asker);
  // It asks again and again once it knows what it waits for.
  await expect.poll(() => questions.mock.calls.length).toBeGreaterThan(3);
  const second = await beginInsert(3);
  await first.end();
  await waiting;
  expect(await storedRows(2)).toBe('1');
  await second.end();
  await asker.close();
});

test('without inserts there is nothing to wait for', async () => {
  await untilInsertsEnd(client);
});

test('a ClickHouse that is away is told as unavailable, not taken for one that runs no inserts', async () => {
  const away = createWarehouse('http://127.0.0.1:1/nothing');
  await expect(away.untilInsertsEnd()).rejects.toMatchObject({ name: 'WarehouseError', kind: 'unavailable' });
  await away.close();
});
