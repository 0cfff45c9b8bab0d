import { randomUUID } from 'node:crypto';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createClickHouseDatabase } from './test-stores.ts';

// What the warehouse relies on, with the unmodified client over HTTP: the embedded engine must keep it when it is
// updated.

let database: Awaited<ReturnType<typeof createClickHouseDatabase>>;
let client: ReturnType<typeof createClient>;

beforeAll(async () => {
  database = await createClickHouseDatabase();
  client = createClient({ url: database.url, log: { level: ClickHouseLogLevel.OFF } });
});
afterAll(async () => {
  await client.close();
  await database.drop();
});

async function select(query: string, query_params: Record<string, unknown> = {}): Promise<unknown[]> {
  const result = await client.query({ query, query_params, format: 'JSONEachRow' });
  return result.json();
}

test('blocks with the same token are stored once, in the table and in its materialized views, also when sent at once', async () => {
  await client.command({
    query: `CREATE TABLE event (id UInt32, path String) ENGINE = MergeTree ORDER BY id
      SETTINGS non_replicated_deduplication_window = 1000`,
  });
  await client.command({
    query: `CREATE MATERIALIZED VIEW path_mv (path String, events SimpleAggregateFunction(sum, UInt64))
      ENGINE = AggregatingMergeTree ORDER BY path SETTINGS non_replicated_deduplication_window = 1000
      AS SELECT path, count() AS events FROM event GROUP BY path`,
  });
  const values = Array.from({ length: 100 }, (_, id) => ({ id, path: `/${id % 2}` }));
  const insert = (token: string) =>
    client.insert({
      table: 'event',
      values,
      format: 'JSONEachRow',
      clickhouse_settings: {
        insert_deduplication_token: token,
        deduplicate_blocks_in_dependent_materialized_views: 1,
        async_insert: 0,
      },
    });
  await Promise.all([insert('one'), insert('one'), insert('one')]);
  await insert('one');
  await insert('two');
  expect(await select('SELECT count() AS rows FROM event')).toEqual([{ rows: 200 }]);
  expect(await select('SELECT path, sum(events) AS events FROM path_mv GROUP BY path ORDER BY path')).toEqual([
    { path: '/0', events: 100 },
    { path: '/1', events: 100 },
  ]);
});

test('parameters are bound, whatever is in them', async () => {
  const text = `'; DROP TABLE event; -- \\ " \n é 🙂`;
  expect(await select('SELECT {text: String} AS text, {list: Array(String)} AS list', { text, list: [text] })).toEqual([
    { text, list: [text] },
  ]);
});

test('settings hold for their query only, and a limit of time is kept', async () => {
  const endless = client.command({
    query: 'SELECT count() FROM numbers(1e15) WHERE sipHash64(number) = 0',
    clickhouse_settings: { max_execution_time: 1 },
  });
  await expect(endless).rejects.toMatchObject({ code: '159', type: 'TIMEOUT_EXCEEDED' });
  expect(await select(`SELECT getSetting('max_execution_time') AS seconds`)).toEqual([{ seconds: 0 }]);
});

test('a query ends when its client goes away or when it is killed', async () => {
  const running = async (queryId: string) =>
    (await select('SELECT 1 FROM system.processes WHERE query_id = {queryId: String}', { queryId })).length > 0;
  const begin = async (abort_signal?: AbortSignal) => {
    const query_id = randomUUID();
    const outcome = client
      .query({
        query: 'SELECT count() FROM numbers(1e15) WHERE sipHash64(number) = 0',
        query_id,
        ...(abort_signal && { abort_signal }),
        clickhouse_settings: { readonly: '2', cancel_http_readonly_queries_on_client_close: 1, max_threads: 1 },
      })
      .catch((error) => error);
    await vi.waitUntil(() => running(query_id), 30_000);
    return { query_id, outcome };
  };
  const left = new AbortController();
  const abandoned = await begin(left.signal);
  left.abort();
  await vi.waitUntil(async () => !(await running(abandoned.query_id)), 30_000);

  const { query_id, outcome } = await begin();
  await client.command({ query: 'KILL QUERY WHERE query_id = {query_id: String}', query_params: { query_id } });
  expect(await outcome).toMatchObject({ type: 'QUERY_WAS_CANCELLED' });
});

test('the answer tells what was read and written', async () => {
  const inserted = await client.insert({
    table: "FUNCTION null('number UInt64')",
    values: [{ number: 1 }, { number: 2 }],
    format: 'JSONEachRow',
  });
  expect(inserted.summary).toMatchObject({ written_rows: '2' });
  const selected = await client.query({ query: 'SELECT sum(number) FROM numbers(1000)', format: 'JSON' });
  expect((await selected.json()).statistics).toMatchObject({ rows_read: 1000 });
});
