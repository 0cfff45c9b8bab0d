import { randomUUID } from 'node:crypto';
import { runClickHouse } from '@meridian/embedded/clickhouse-store';
import { createClickHouseDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rollupTables } from './rollups/repair.ts';
import { createTestSite, toBlock, uuidV7 } from './test-site.ts';
import { createWarehouse, type Warehouse } from './warehouse.ts';

const dayMs = 86_400_000;
const tables = ['events', ...rollupTables] as const;

let database: Awaited<ReturnType<typeof createClickHouseDatabase>>;
let warehouse: Warehouse;

beforeAll(async () => {
  database = await createClickHouseDatabase();
  warehouse = createWarehouse(database.url);
  await warehouse.migrate();
});
afterAll(async () => {
  await warehouse.close();
  await database.drop();
});

async function ask(query: string): Promise<string[]> {
  return (await runClickHouse(database.url, query)).trim().split('\n');
}
/** Number of rows, after everything that has expired is gone. */
async function rowsIn(table: string): Promise<number> {
  await ask(`OPTIMIZE TABLE ${database.database}.${table} FINAL`);
  return Number((await ask(`SELECT count() FROM ${database.database}.${table}`))[0]);
}
const definitions = () =>
  ask(`SELECT engine_full FROM system.tables WHERE database = '${database.database}' AND engine_full LIKE '% TTL %'`);

test('what is older than the retention goes, from the events and every rollup; the rest stays; without retention all does', async () => {
  const site = createTestSite(warehouse);
  const now = Date.now();
  // A row of each in every table. The events lie a day behind the beginnings of their visits, which therefore are stray ones.
  const rows = [now - 70 * dayMs, now - dayMs].map((t, n) => ({ ...site.toRow({ t }), visitId: uuidV7(t - dayMs, n) }));
  await warehouse.insertEvents(toBlock(rows), randomUUID());
  await warehouse.setRetention(undefined);
  for (const table of tables) expect([table, await rowsIn(table)]).toEqual([table, 2]);

  await warehouse.setRetention(30);
  for (const table of tables) await expect.poll(() => rowsIn(table), { timeout: 30_000 }).toBe(1);
  expect((await definitions()).length).toBe(tables.length + 1);

  await warehouse.setRetention(365);
  await warehouse.setRetention(365);
  expect((await definitions()).every((text) => text.includes('toIntervalDay(365)'))).toBe(true);

  await warehouse.setRetention(undefined);
  expect(await definitions()).toEqual(['']);
});
