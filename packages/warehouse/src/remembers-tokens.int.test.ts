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
  expect(await remembersTokensSince(client, beforeMs, { partsMax: 60 })).toBe('yes');
  expect(await remembersTokensSince(client, beforeMs, { partsMax: 59 })).toBe('no');
  expect(await warehouse.remembersTokensSince(beforeMs)).toBe('yes');
  expect(await warehouse.remembersTokensSince(beforeMs - 110_000)).toBe('unknown');
  expect(await remembersTokensSince(client, beforeMs - 110_000, { partsMax: 59 })).toBe('no');
  expect(await remembersTokensSince(client, beforeMs - 200_000, { partsMax: 100 })).toBe('no'); // at that rate
});

test('parts from before count no more, nor do those of other tables; of a time that is still to come nothing is known', async () => {
  await createTestSite(warehouse).insert([{ t: '10:00' }]);
  const allowed = { partsMax: 0 };
  const sinceNextSecond = () => remembersTokensSince(client, Date.now() + 29_000, allowed); // as clocks may differ
  await expect.poll(sinceNextSecond).toBe('yes');
  await client.command({ query: "INSERT INTO schema_migrations (name) VALUES ('another')" });
  expect(await sinceNextSecond()).toBe('yes');
  expect(await remembersTokensSince(client, Date.now() + 40_000, allowed)).toBe('unknown');
});

test('every table tells of the parts that it has merged for minutes', async () => {
  const answer = await client.query({
    query: `SELECT name, extract(engine_full, 'old_parts_lifetime = (\\d+)') AS seconds FROM system.tables
      WHERE database = currentDatabase() AND seconds != '' ORDER BY name`,
    format: 'JSONEachRow',
  });
  const tables = ['events', 'site_15m', 'site_texts', 'site_visits', 'stray_visits'];
  expect(await answer.json()).toEqual(tables.map((name) => ({ name, seconds: '120' })));

  const beforeMs = Date.now();
  const site = createTestSite(warehouse);
  for (let i = 0; i < 12; i++) await site.insert([{ t: '10:00' }]);
  await client.command({ query: 'OPTIMIZE TABLE site_15m FINAL' });
  expect(await remembersTokensSince(client, beforeMs, { partsMax: 11 })).toBe('no');
});
