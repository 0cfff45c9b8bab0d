import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { expect, test } from 'vitest';
import { migrate } from './migrate.ts';
import { readPostgresState } from './server-state.ts';

test('a database lacks every migration before it is migrated, and none afterwards', async () => {
  const database = await createPostgresDatabase();
  const before = await readPostgresState(database.url);
  expect(before.version).toMatch(/^\d+/);
  expect(before.missingMigrations[0]).toBe('0000_accounts_and_websites');
  await migrate(database.url);
  expect(await readPostgresState(database.url)).toEqual({ ...before, missingMigrations: [], isNewer: false });
  await database.drop();
});
