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
  // A row of each in every table. The events lie a day behind the beginnings of their visits, which therefore are stray
  // ones.
  const rows = [now - 70 * dayMs, now - dayMs].map((t, n) => ({ ...site.toRow({ t }), visitId: uuidV7(t - dayMs, n) }));
  await warehouse.insertEvents(toBlock(rows), randomUUID());
  await warehouse.setRetention(undefined);
  for (const table of tables) expect([table, await rowsIn(table)]).toEqual([table, 2]);

  await warehouse.setRetention(30);
  for (const table of tables) await expect.poll(() => rowsIn(table), { timeout: 30_000 }).toBe(1);
  expect((await definitions()).length).toBe(tables.length + 1);

  await warehouse.setRetention(365);
  await warehouse.setRetention(365);
  expect((await definitions()).map((text) => text.match(/toIntervalDay\((\d+)/)?.[1]).sort()).toEqual([
    ...['365', '365'], // events and session properties
    ...['373', '373', '373', '373'],
  ]);

  await warehouse.setRetention(undefined);
  expect(await definitions()).toEqual(['']);
});

test('a range that reaches past the retention has one answer, from events and from rollups: that of the events which are sure to be kept', async () => {
  const days = 20;
  await warehouse.setRetention(days);
  const [byEvents, byRollups] = (['events', 'rollups'] as const).map((readFrom) =>
    createWarehouse(database.url, { readFrom }),
  ) as [Warehouse, Warehouse];
  const site = createTestSite(warehouse);
  const edgeMs = Date.now() - days * dayMs;
  const hourMs = dayMs / 24;
  // Visits of 12 hours, one begun every 20 minutes for two days around the edge, each with an event an hour.
  const events = Array.from({ length: 144 }, (_, n) =>
    Array.from({ length: 13 }, (_, hour) => ({
      t: edgeMs - dayMs + (n * hourMs) / 3 + hour * hourMs,
      visit: `v${n}`,
      session: `s${n}`,
      urlPath: `/${n % 5}`,
      pageTitle: 'Needle',
    })),
  ).flat();
  await site.insert(events);
  for (const table of tables) await rowsIn(table);
  const question = site.ask({ range: { startAt: new Date(edgeMs - 30 * dayMs), endAt: new Date(edgeMs + 3 * dayMs) } });
  const buckets = Array.from({ length: 34 }, (_, day) => Math.floor((edgeMs - 30 * dayMs) / dayMs + day) * dayMs);
  const answers = async (from: Warehouse) => ({
    stats: (await from.getStats(question)).value,
    series: (await from.getPageviewSeries(question, buckets)).value,
    paths: (await from.getMetrics(question, { type: 'path', limit: 10, offset: 0 })).value,
    browsers: (await from.getExpandedMetrics(question, { type: 'browser', limit: 10, offset: 0 })).value,
    log: (await from.listEvents(question, { offset: 0, limit: 50 })).value,
    found: (await from.listEvents(question, { offset: 0, limit: 50 }, { search: 'needle' })).value.count,
  });
  const answered = await answers(byEvents);
  expect(await answers(byRollups)).toEqual(answered);
  const { pageviews } = answered.stats;
  expect(answered.series.pageviews.reduce((sum, n) => sum + n, 0)).toBe(pageviews);
  expect([answered.log.count, answered.found]).toEqual([pageviews, pageviews]);
  const kept = events.filter(({ t }) => t >= edgeMs).length;
  const surelyKept = events.filter(({ t }) => t >= edgeMs + 1.5 * hourMs).length;
  expect(pageviews).toBeGreaterThanOrEqual(surelyKept);
  expect(pageviews).toBeLessThan(kept);

  const before = site.ask({ range: { startAt: new Date(edgeMs - 9 * dayMs), endAt: new Date(edgeMs - dayMs) } });
  for (const from of [byEvents, byRollups]) expect((await from.getStats(before)).value.pageviews).toBe(0);
  await Promise.all([byEvents.close(), byRollups.close()]);
});
