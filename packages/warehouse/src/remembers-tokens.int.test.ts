import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { insertEvents } from './insert.ts';
import { remembersTokensSince } from './remembers-tokens.ts';
import { createTestSite, toBlock } from './test-site.ts';
import { createTestWarehouse } from './test-warehouse.ts';

const { warehouse, client } = await createTestWarehouse();

test('tokens count as forgotten when a table has got more parts since than it remembers, or when that cannot be known', async () => {
  const beforeMs = Date.now();
  const site = createTestSite(warehouse);
  const weeks = Array.from({ length: 60 }, (_, week) =>
    site.toRow({ t: Date.UTC(2010, 0, 4 + 7 * week), visit: `v${week}` }),
  );
  await insertEvents(client, toBlock(weeks), randomUUID());
  expect(await remembersTokensSince(client, beforeMs, { partsMax: 60 })).toBe(true);
  expect(await remembersTokensSince(client, beforeMs, { partsMax: 59 })).toBe(false);
  expect(await remembersTokensSince(client, beforeMs + 200_000, { partsMax: 0 })).toBe(true);
  expect(await warehouse.remembersTokensSince(beforeMs)).toBe(true);
  expect(await warehouse.remembersTokensSince(beforeMs - 420_000)).toBe(false);
});
