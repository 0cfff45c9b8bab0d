import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runClickHouse } from '@meridian/embedded/clickhouse-store';
import { createTestProxy, type TestProxy } from '@meridian/embedded/test-proxy';
import { createClickHouseDatabase, createPostgresDatabase } from '@meridian/embedded/test-stores';
import { rollupsMigration } from '@meridian/warehouse/migrate';
import { findWrongRows } from '@meridian/warehouse/rollups/test-rollups';
import { applyFirstSchema } from '@meridian/warehouse/test-first-schema';
import { createTestSite } from '@meridian/warehouse/test-site';
import { createWarehouse, type Warehouse } from '@meridian/warehouse/warehouse';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runMigrate } from './migrate-command.ts';

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const until = { timeout: 120_000, interval: 30 };

let postgres: Awaited<ReturnType<typeof createPostgresDatabase>>;
let clickhouse: Awaited<ReturnType<typeof createClickHouseDatabase>>;
let proxy: TestProxy;
let warehouse: Warehouse;
let processes: ChildProcess[];

beforeEach(async () => {
  [postgres, clickhouse] = await Promise.all([createPostgresDatabase(), createClickHouseDatabase()]);
  await applyFirstSchema(clickhouse.url);
  const { hostname: host, port } = new URL(clickhouse.url);
  proxy = await createTestProxy({ host, port: Number(port) });
  warehouse = createWarehouse(clickhouse.url);
  processes = [];
});
afterEach(async () => {
  for (const one of processes) one.kill('SIGKILL');
  await Promise.all([proxy.close(), warehouse.close()]);
  await Promise.all([postgres.drop(), clickhouse.drop()]);
});

/** `npm run migrate`, with ClickHouse behind the proxy. */
function startMigrate(): ChildProcess {
  const proxied = new URL(clickhouse.url);
  proxied.host = `127.0.0.1:${proxy.port}`;
  const env = { PATH: process.env.PATH, DATABASE_URL: postgres.url, CLICKHOUSE_URL: proxied.href };
  const one = spawn('node', ['bin/meridian.mjs', 'migrate'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  processes.push(one);
  return one;
}

async function ask(query: string): Promise<string> {
  return (await runClickHouse(clickhouse.url, query.replaceAll('{db}', clickhouse.database))).trim();
}

const isApplied = () => ask(`SELECT count() FROM {db}.schema_migrations WHERE name = '${rollupsMigration}'`);
const hasTable = (name: string) =>
  ask(`SELECT count() FROM system.tables WHERE database = '{db}' AND name = '${name}'`);

/** A website with visits in two years, and how many pageviews it has. */
async function filledSite() {
  const site = createTestSite(warehouse);
  const events = Array.from({ length: 400 }, (_, i) => ({
    t: Date.UTC(2025, 8, 1) + i * 16 * 3_600_000,
    session: `s${i % 50}`,
    visit: `v${i % 300}`,
    urlPath: `/${i % 20}`,
    screen: `${i % 7}x1`,
  }));
  await site.insert(events.filter(({ t }) => t < Date.UTC(2026, 0, 1)));
  await site.insert(events.filter(({ t }) => t >= Date.UTC(2026, 0, 1)));
  const question = site.ask({ range: { startAt: new Date('2025-01-01'), endAt: new Date('2027-01-01') } });
  return { site, pageviews: async () => (await warehouse.getStats(question)).value.pageviews };
}

test('a migration that is killed, wherever, is completed by the next one; no event is lost and no rollup counts one twice', async () => {
  const { site, pageviews } = await filledSite();
  proxy.slowDown(100); // so that it is caught
  const stages: Record<string, () => Promise<boolean>> = {
    'the first new table is there': async () => (await hasTable('site_visits')) === '1',
    'the old ones are gone': async () => (await hasTable('path_day')) === '0',
    'the first rollup is being filled': async () => (await ask('SELECT count() FROM {db}.site_visits')) !== '0',
    'the last one is': async () => (await ask('SELECT count() FROM {db}.site_texts')) !== '0',
    'visits have new columns': async () =>
      (await ask(`SELECT count() FROM system.columns WHERE database = '{db}' AND name = 'country_max'`)) === '1',
    'and newer ones': async () =>
      (await ask(`SELECT count() FROM system.columns WHERE database = '{db}' AND name = 'screens'`)) === '1',
    'a view is about to be loaded anew': async () => (await hasTable('site_visits_mv')) === '0',
  };
  let expected = 400;
  for (const [stage, isReached] of Object.entries(stages)) {
    const one = startMigrate();
    await expect.poll(isReached, { ...until, message: stage }).toBe(true);
    one.kill('SIGKILL');
    await once(one, 'exit');
    expect([stage, await isApplied()]).toEqual([stage, '0']);
    await site.insert([{ t: '10:00', visit: stage, urlPath: '/between' }]);
    expected += 1;
    expect(await pageviews()).toBe(expected);
  }
  proxy.slowDown(0);
  const [code] = await once(startMigrate(), 'exit');
  expect([code, await isApplied()]).toEqual([0, '1']);
  expect(await pageviews()).toBe(expected);
  expect(await findWrongRows(clickhouse.url)).toEqual([]);
}, 300_000);

test('two at once on filled stores: one does it, the other one finds it done; questions are right all along', async () => {
  const { pageviews } = await filledSite();
  proxy.slowDown(20);
  let areRunning = true;
  const ended = Promise.all([startMigrate(), startMigrate()].map(async (one) => (await once(one, 'exit'))[0])).finally(
    () => {
      areRunning = false;
    },
  );
  while (areRunning) {
    expect(await pageviews()).toBe(400);
    if ((await isApplied()) === '1') expect(await ask('SELECT sum(pageviews) FROM {db}.site_visits')).toBe('400');
  }
  expect(await ended).toEqual([0, 0]);
  expect(await findWrongRows(clickhouse.url)).toEqual([]);
}, 300_000);

test('one that loses Postgres, and with it the lock, ends with an error: it begins no second one in ClickHouse beside its first', async () => {
  const { hostname: host, port } = new URL(postgres.url);
  const postgresProxy = await createTestProxy({ host, port: Number(port) });
  const proxied = new URL(postgres.url);
  proxied.host = `127.0.0.1:${postgresProxy.port}`;
  let begun = 0;
  let goOn = () => {};
  const migrate = async (cluster?: string) => {
    begun += 1;
    if (begun === 1) await new Promise<void>((resolve) => (goOn = resolve));
    await warehouse.migrate(cluster);
  };
  const deps = { warehouse: { ...warehouse, migrate }, cluster: undefined, retentionDays: undefined };
  const ended = runMigrate({ ...deps, databaseUrl: proxied.href, report: () => {} }, [], () => {}).catch(String);
  await expect.poll(() => begun, until).toBe(1);
  postgresProxy.cut();
  const outcome = await ended;
  goOn();
  expect([outcome, begun]).toEqual([expect.stringContaining('The connection was lost during the migration'), 1]);
  expect(outcome).toMatch(/^StartError: Postgres \(DATABASE_URL\): .*ECONNRESET$/);
  await expect.poll(isApplied, until).toBe('1');
  await postgresProxy.close();
}, 300_000);
