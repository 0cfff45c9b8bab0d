import { createClickHouseDatabase } from '@meridian/embedded/test-stores';
import { expect, test } from 'vitest';
import { migrationNames } from './migrate.ts';
import { createWarehouse } from './warehouse.ts';

test('a database lacks every migration before it is there and before it is migrated, and none afterwards', async () => {
  const database = await createClickHouseDatabase();
  const nowhere = createWarehouse(`${database.url}_nowhere`);
  const warehouse = createWarehouse(database.url);
  const all = await migrationNames();
  expect((await nowhere.readState()).missingMigrations).toEqual(all);
  const before = await warehouse.readState();
  expect(before).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+/), missingMigrations: all });
  await warehouse.migrate();
  expect(await warehouse.readState()).toEqual({ ...before, missingMigrations: [] });
  await Promise.all([warehouse.close(), nowhere.close()]);
  await database.drop();
});
