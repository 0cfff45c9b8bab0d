import { randomUUID } from 'node:crypto';
import { createClient } from '@clickhouse/client';
import { expect, test } from 'vitest';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { clientOptions } from './client.ts';
import { type EventRow, eventColumns } from './event-row.ts';
import { insertEvents } from './insert.ts';
import { rollupTables } from './rollups/repair.ts';
import { findWrongRows } from './rollups/test-rollups.ts';
import { at, createTestSite, toBlock } from './test-site.ts';
import { createTestWarehouse } from './test-warehouse.ts';
import { createWarehouse } from './warehouse.ts';
import { callsOf, WarehouseError } from './warehouse-error.ts';

const { warehouse, client, database } = await createTestWarehouse();

/** Pageviews of a website that are stored, when every rollup is what its view makes of them. */
async function storedPageviews(websiteId: string): Promise<number> {
  expect(await findWrongRows(database.url, websiteId)).toEqual([]);
  return Number(await scalar(`SELECT count() FROM events WHERE website_id = '${websiteId}' AND event_type = 1`));
}

async function scalar(query: string): Promise<string> {
  const result = await client.query({ query, format: 'TabSeparated' });
  return (await result.text()).trim();
}

test('the same block with the same token is stored once in the events and in every view, also after a restart', async () => {
  const site = createTestSite(warehouse);
  const rows = toBlock([site.toRow({ t: '10:00', urlPath: '/a' }), site.toRow({ t: '10:20', urlPath: '/b' })]);
  const token = randomUUID();
  await warehouse.insertEvents(rows, token);
  await warehouse.insertEvents(rows, token);
  expect(await storedPageviews(site.websiteId)).toBe(2);

  for (const table of ['events', ...rollupTables]) {
    await client.command({ query: `DETACH TABLE ${table} SYNC` });
    await client.command({ query: `ATTACH TABLE ${table}` });
  }
  await warehouse.insertEvents(rows, token);
  expect(await storedPageviews(site.websiteId)).toBe(2);
});

test('two identical blocks with different tokens are two honest batches: both stay', async () => {
  const site = createTestSite(warehouse);
  const rows = toBlock([site.toRow({ t: '10:00' })]);
  await warehouse.insertEvents(rows, randomUUID());
  await warehouse.insertEvents(rows, randomUUID());
  expect(await storedPageviews(site.websiteId)).toBe(2);
});

test('a block of 120 months is stored whole, with all its views', async () => {
  const site = createTestSite(warehouse);
  await site.insert(
    Array.from({ length: 120 }, (_, month) => ({ t: Date.UTC(2001, month, 15), visit: `v${month % 100}` })),
  );
  expect(await storedPageviews(site.websiteId)).toBe(120);
});

test('a retry after a view refused the block completes the view and doubles nothing', async () => {
  const site = createTestSite(warehouse);
  const rows = toBlock([site.toRow({ t: '10:00' })]);
  await client.command({
    query: `CREATE MATERIALIZED VIEW broken_mv TO site_15m AS
      SELECT website_id, toStartOfFifteenMinutes(created_at) AS bucket, throwIf(website_id = '${site.websiteId}') AS pageviews FROM events`,
  });
  const token = randomUUID();
  await expect(warehouse.insertEvents(rows, token)).rejects.toThrow(WarehouseError);
  await client.command({ query: 'DROP VIEW broken_mv SYNC' });
  await warehouse.insertEvents(rows, token);
  expect(await storedPageviews(site.websiteId)).toBe(1);
});

test('a block with a row that cannot be stored is an error of kind "data", and nothing of it is stored', async () => {
  const site = createTestSite(warehouse);
  const rows = toBlock([site.toRow({ t: '10:00' }), site.toRow({ t: '10:01', tag: site.websiteId })]);
  await client.command({ query: `ALTER TABLE events ADD CONSTRAINT odd CHECK tag != '${site.websiteId}'` });
  await expect(warehouse.insertEvents(rows, randomUUID())).rejects.toMatchObject({ kind: 'data' });
  await client.command({ query: 'ALTER TABLE events DROP CONSTRAINT odd' });
  expect(await storedPageviews(site.websiteId)).toBe(0);
});

test('a block that ends inside a row is an error of kind "data", and nothing of it is stored', async () => {
  const site = createTestSite(warehouse);
  const [whole = Buffer.alloc(0), cut = whole] = toBlock([site.toRow({ t: '10:00' }), site.toRow({ t: '10:01' })]);
  const inserted = warehouse.insertEvents([whole, cut.subarray(0, -1)], randomUUID());
  await expect(inserted).rejects.toMatchObject({ kind: 'data' });
  expect(await storedPageviews(site.websiteId)).toBe(0);
});

test('a block for which there is no memory is an error of kind "limit", also when its events are stored already: the same block completes the views later', async () => {
  const limited = (bytes: number) => {
    const settings = { max_memory_usage: String(bytes) };
    return createClient({ ...clientOptions(parseClickHouseUrl(database.url)), clickhouse_settings: settings });
  };
  const site = createTestSite(warehouse);
  const rows = toBlock(
    Array.from({ length: 2_000 }, (_, i) =>
      site.toRow({ t: at('10:00') + i, visit: `v${i}`, urlPath: 'x'.repeat(5_000) }),
    ),
  );
  // The first block of all needs more: there it would fail before its events are stored.
  await warehouse.insertEvents(toBlock([createTestSite(warehouse).toRow({ t: '10:00' })]), randomUUID());
  // The numbers lie far from where the server's need is: 55 MB for the events, 250 MB with the views.
  const [tiny, small] = [limited(30_000_000), limited(130_000_000)];
  const token = randomUUID();
  await expect(callsOf(tiny).writing(insertEvents)(rows, token)).rejects.toMatchObject({ kind: 'limit' });
  expect(await scalar(`SELECT count() FROM events WHERE website_id = '${site.websiteId}'`)).toBe('0');
  await expect(callsOf(small).writing(insertEvents)(rows, token)).rejects.toMatchObject({ kind: 'limit' });
  expect(await scalar(`SELECT count() FROM events WHERE website_id = '${site.websiteId}'`)).toBe('2000');
  await warehouse.insertEvents(rows, token);
  expect(await storedPageviews(site.websiteId)).toBe(2_000);
  await Promise.all([tiny.close(), small.close()]);
});

test('a ClickHouse that does not answer is an error of kind "unavailable"', async () => {
  const absent = createWarehouse('http://127.0.0.1:9/meridian');
  const site = createTestSite(absent);
  await expect(absent.insertEvents(toBlock([site.toRow({ t: '10:00' })]), 'x')).rejects.toMatchObject({
    kind: 'unavailable',
  });
  await expect(absent.getStats(site.ask())).rejects.toMatchObject({ kind: 'unavailable' });
  await expect(absent.ping()).rejects.toMatchObject({ kind: 'unavailable' });
  await absent.close();
});

test('ping resolves for who may ask in a database that is there', async () => {
  await warehouse.ping();
  const otherPassword = new URL(database.url);
  otherPassword.password = 'wrong';
  for (const address of [otherPassword.href, `${database.url}_nowhere`]) {
    const refused = createWarehouse(address);
    await expect(refused.ping(), address).rejects.toMatchObject({ kind: 'unavailable' });
    await refused.close();
  }
});

test('findStoredEventIds names those of the given events that are stored', async () => {
  const site = createTestSite(warehouse);
  const stored = await site.insert([{ t: '10:00' }, { t: '2001-02-03T04:05:06.007Z' }]);
  const missing = [site.toRow({ t: '10:00' }), site.toRow({ t: '11:00' })];
  const found = await warehouse.findStoredEventIds([...stored, ...missing]);
  expect([...found].sort()).toEqual(stored.map((row) => row.eventId).sort());
});

test('findStoredEventIds answers for more events than fit one query', async () => {
  const site = createTestSite(warehouse);
  const stored = await site.insert(Array.from({ length: 4500 }, (_, i) => ({ t: at('10:00') + i })));
  expect((await warehouse.findStoredEventIds(stored)).size).toBe(4500);
});

test('of two values of one session property the later event time wins, in whatever order they are stored', async () => {
  const site = createTestSite(warehouse);
  const property = { websiteId: site.websiteId, sessionId: randomUUID(), eventId: randomUUID(), key: 'plan' };
  await warehouse.insertSessionProperties([{ ...property, createdAtMs: 2000, value: 'gold' }], randomUUID());
  await warehouse.insertSessionProperties(
    [
      { ...property, createdAtMs: 1000, value: 'silver' },
      { ...property, key: 'age', createdAtMs: 1000, value: 41.5 },
      { ...property, key: 'adult', createdAtMs: 1000, value: true },
    ],
    randomUUID(),
  );
  const result = await client.query({
    query: `SELECT property_key, value_type, string_value, number_value FROM session_properties FINAL
      WHERE website_id = '${site.websiteId}' ORDER BY property_key`,
    format: 'JSONCompactEachRow',
  });
  expect(await result.json()).toEqual([
    ['adult', 'boolean', '', 1],
    ['age', 'number', '', 41.5],
    ['plan', 'string', 'gold', 0],
  ]);
});

const hostile = [
  '',
  ' ',
  'NULL',
  '\\N',
  'żółw 😀 "quoted" \\ tab\t newline\n nul\0 {x:String}',
  'a'.repeat(127),
  'a'.repeat(128),
  'ü'.repeat(64),
  '\u{10FFFF}'.repeat(5_000),
  'x'.repeat(300_000),
];

test('every column comes back as it was stored, whatever its value', async () => {
  const site = createTestSite(warehouse);
  const names = Object.keys(site.toRow({ t: '10:00' })) as (keyof EventRow)[];
  const texts = names.filter((name) => typeof site.toRow({ t: '10:00' })[name] === 'string' && !name.endsWith('Id'));
  const times = [
    '2000-01-01T00:00:00.000Z',
    '2000-01-01T00:00:00.001Z',
    '2026-06-10T10:00:00.999Z',
    '2100-12-31T23:59:59.999Z',
  ];
  const stored = await site.insert([
    ...hostile.map((text) => ({
      t: '10:00',
      distinctId: text,
      ...Object.fromEntries(texts.map((name) => [name, text])),
    })),
    // Each text another one: none may come back in another column.
    { t: '10:00', distinctId: 'distinctId', ...Object.fromEntries(texts.map((name) => [name, name])) },
    ...times.map((t) => ({ t })),
    { t: '10:00', eventType: 5, lcp: 0, inp: 1234.5678, fcp: 60_000, ttfb: Number.MIN_VALUE, cls: Number.MAX_VALUE },
    { t: '10:00', eventType: 5, cls: 0.1 },
    { t: '10:00', eventType: 2, lcp: -0.5 },
  ]);
  const ids = stored.map((row) => row.eventId);
  const columns = eventColumns.map((column) =>
    column === 'created_at' ? 'toUnixTimestamp64Milli(created_at)' : column,
  );
  const result = await client.query({
    query: `SELECT ${columns.join(', ')} FROM events WHERE website_id = '${site.websiteId}'`,
    format: 'JSONCompactEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
  });
  const fields = eventColumns.map((column) => column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()));
  const found = new Map((await result.json<unknown[]>()).map((values) => [values[2], values]));
  expect(found.size).toBe(ids.length);
  for (const row of stored) {
    const expected = fields.map((field) => (field === 'createdAt' ? row.createdAtMs : row[field as keyof EventRow]));
    expect(found.get(row.eventId)).toEqual(expected);
  }
});
