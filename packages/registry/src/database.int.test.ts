import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { sql } from 'drizzle-orm';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from './database.ts';

test('a transaction that cannot begin gives its connection back', async () => {
  const postgres = await createPostgresDatabase();
  onTestFinished(postgres.drop);
  const { db, close } = openDatabase(postgres.url, { poolMax: 1, timeoutMs: 1_000 });
  onTestFinished(close);
  const one = sql`SELECT 1 AS one`;
  const impossible = db.transaction((tx) => tx.execute(one), { isolationLevel: 'none' as 'serializable' });
  await expect(impossible).rejects.toThrow();
  expect((await db.transaction((tx) => tx.execute(one))).rows).toEqual([{ one: 1 }]);
  await expect(db.transaction(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
  expect((await db.execute(one)).rows).toEqual([{ one: 1 }]);
});
