import { createClient } from '@clickhouse/client';
import { createClickHouseDatabase } from '@meridian/embedded/test-stores';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { clientOptions } from './client.ts';
import { createRunQuery } from './run-query.ts';

const database = await createClickHouseDatabase();
const client = createClient(clientOptions(parseClickHouseUrl(database.url)));
const run = createRunQuery(client);
afterAll(async () => {
  await client.close();
  await database.drop();
});

const context = { websiteId: '00000000-0000-4000-8000-000000000001', route: 'GET /websites/{id}/stats' };
const Row = z.object({ n: z.number() });
const query = (sql: string, params = {}) => ({ sql, params });

/** Comments of the reads that are running now. */
async function running(): Promise<string[]> {
  const result = await client.query({
    query: `SELECT Settings['log_comment'] AS comment FROM system.processes WHERE current_database = '${database.database}' AND comment != ''`,
    format: 'JSONEachRow',
  });
  return (await result.json<{ comment: string }>()).map((row) => row.comment);
}

test('64-bit numbers are numbers', async () => {
  const { rows } = await run(query('SELECT toUInt64(9007199254740991) AS n'), context, Row);
  expect(rows).toEqual([{ n: 9007199254740991 }]);
});

test('a query names its route and website, and ends when its caller goes away', async () => {
  const caller = new AbortController();
  const answer = run(
    query('SELECT sum(sleepEachRow(1)) AS n FROM numbers(60) SETTINGS max_block_size = 1'),
    { ...context, signal: caller.signal },
    Row,
  );
  await vi.waitFor(async () => expect(await running()).toEqual([`${context.route} ${context.websiteId}`]), 10_000);
  caller.abort();
  await expect(answer).rejects.toMatchObject({ kind: 'aborted' });
  await vi.waitFor(async () => expect(await running()).toEqual([]), 10_000);
});

test('a caller who is gone already asks nothing', async () => {
  await expect(run(query('SELECT 1 AS n'), { ...context, signal: AbortSignal.abort() }, Row)).rejects.toMatchObject({
    kind: 'aborted',
  });
});

test('a query that reads or holds too much is an error of kind "limit", never a part of the answer', async () => {
  for (const sql of ['SELECT sum(number) AS n FROM numbers(100000000000)', 'SELECT number AS n FROM numbers(200000)'])
    await expect(run(query(sql), context, Row)).rejects.toMatchObject({ kind: 'limit' });
});

test('a ClickHouse that says nothing is an error of kind "timeout", and its query ends', async () => {
  const slow = query('SELECT sum(sleepEachRow(1)) AS n FROM numbers(60) SETTINGS max_block_size = 1');
  await expect(createRunQuery(client, () => {}, 200)(slow, context, Row)).rejects.toMatchObject({ kind: 'timeout' });
  await vi.waitFor(async () => expect(await running()).toEqual([]), 10_000);
});

test('reads cannot write', async () => {
  await expect(run(query('CREATE TABLE t (a UInt8) ENGINE = Memory'), context, Row)).rejects.toThrow();
});

test('a row of another shape than declared is an error', async () => {
  await expect(run(query("SELECT 'text' AS n"), context, Row)).rejects.toThrow();
});
