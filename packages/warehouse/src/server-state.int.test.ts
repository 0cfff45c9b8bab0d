import { createClient } from '@clickhouse/client';
import { createClickHouseDatabase } from '@meridian/embedded/test-stores';
import { expect, test } from 'vitest';
import { migrationNames } from './migrate.ts';
import { createWarehouse } from './warehouse.ts';

test('a database lacks every migration before it is there and before it is migrated, and none afterwards; it tells a view that is gone, and a later migration', async () => {
  const database = await createClickHouseDatabase();
  const nowhere = createWarehouse(`${database.url}_nowhere`);
  const warehouse = createWarehouse(database.url);
  const all = await migrationNames();
  expect((await nowhere.readState()).missingMigrations).toEqual(all);
  const before = await warehouse.readState();
  expect(before).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+/), missingMigrations: all });
  await warehouse.migrate();
  const migrated = { ...before, missingMigrations: [], missingViews: [], isNewer: false };
  expect(await warehouse.readState()).toEqual(migrated);

  const client = createClient({ url: database.url });
  await client.command({ query: 'DROP VIEW site_15m_mv' });
  await client.insert({ table: 'schema_migrations', values: [{ name: '9999_later.sql' }], format: 'JSONEachRow' });
  expect(await warehouse.readState()).toEqual({ ...migrated, missingViews: ['site_15m_mv'], isNewer: true });
  await client.close();
  await Promise.all([warehouse.close(), nowhere.close()]);
  await database.drop();
});
