import { randomUUID } from 'node:crypto';
import { deadLettersKey, partitionOf } from '@meridian/queue/log-keys';
import { RegistryError } from '@meridian/registry/registry-error';
import { testActor } from '@meridian/registry/registry-fixtures';
import { findWrongRows } from '@meridian/warehouse/rollups/test-rollups';
import { createTestSite } from '@meridian/warehouse/test-site';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import { WarehouseError } from '@meridian/warehouse/warehouse-error';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createWorkerFixture, partitions, type WorkerFixture } from './worker-fixture.ts';

let fixture: WorkerFixture;
beforeEach(async () => {
  fixture = await createWorkerFixture();
});
afterEach(() => fixture.close());

const many = <Value>(count: number, value: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, i) => value(i));
const untilConsumed = () => expect.poll(() => fixture.entriesLeft(), { timeout: 30_000 }).toBe(0);

/** Leaves events that a worker has stored, whose batch it has not ended since it heard no answer. Gives their ids. */
async function storeWithoutAnswer(events: Parameters<WorkerFixture['append']>): Promise<string[]> {
  const worker = fixture.newWorker();
  const running = worker.run();
  await expect.poll(() => fixture.redis.exists('events-restart')).toBe(1); // what is there at the first look is asked about
  fixture.proxy.loseAnswers(1_000);
  const ids = await fixture.append(...events);
  await expect.poll(() => fixture.storedIds(), { timeout: 30_000 }).toEqual(ids);
  fixture.proxy.goDown();
  await worker.stop();
  await running;
  expect(await fixture.entriesLeft()).toBeGreaterThan(0);
  fixture.proxy.loseAnswers(0);
  fixture.proxy.goUp();
  return ids;
}

describe('the worker brings into the warehouse', () => {
  test('every event with all its fields, and the properties of identify', async () => {
    const websiteId = await fixture.newWebsite();
    const [pageview] = await fixture.append(
      { websiteId, urlPath: '/café', distinctId: 'u' },
      { websiteId, type: 'custom', eventName: 'buy', data: '{"price":9.5}' },
      { websiteId, type: 'identify', data: '{"plan":"pro"}' },
      { websiteId, type: 'performance', lcp: 1_200 },
    );
    void fixture.newWorker().run();
    await untilConsumed();
    expect(await fixture.storedIds()).toHaveLength(3);
    const row = await fixture.ask(
      `SELECT tuple(event_type, url_path, distinct_id, website_id) FROM {db}.events WHERE event_id = '${pageview}'`,
    );
    expect(row).toEqual([`(1,'/café','u','${websiteId}')`]);
    expect(await fixture.ask('SELECT tuple(property_key, string_value) FROM {db}.session_properties')).toEqual([
      "('plan','pro')",
    ]);
  });

  test('a hundred thousand properties of sessions in several inserts', async () => {
    const websiteId = await fixture.newWebsite();
    const properties = (n: number) => Object.fromEntries(many(1_000, (i) => [`p${n}-${i}`, i]));
    await fixture.append(
      ...many(100, (n) => ({ websiteId, type: 'identify' as const, data: JSON.stringify(properties(n)) })),
    );
    const inserted: number[] = [];
    const insertSessionProperties: Warehouse['insertSessionProperties'] = (rows, token) => {
      inserted.push(rows.length);
      return fixture.warehouse.insertSessionProperties(rows, token);
    };
    void fixture.newWorker({ warehouse: { ...fixture.warehouse, insertSessionProperties } }).run();
    await untilConsumed();
    expect(Math.max(...inserted)).toBeLessThanOrEqual(51_000);
    expect(await fixture.ask('SELECT count() FROM {db}.session_properties FINAL')).toEqual(['100000']);
  }, 60_000);

  test('a backfill over many years once, though it touches more months than a block may', async () => {
    const websiteId = await fixture.newWebsite();
    const month = (i: number) => Date.UTC(2010, i, 15);
    const ids = await fixture.append(...many(120, (i) => ({ websiteId, createdAtMs: month(i) })));
    void fixture.newWorker().run();
    await untilConsumed();
    expect(await fixture.storedIds()).toEqual(ids);
  }, 120_000);

  test('events of now while a block of long ago is being stored', async () => {
    const websiteId = await fixture.newWebsite();
    let isHeld = false;
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const insertEvents: Warehouse['insertEvents'] = async (rows, token) => {
      isHeld ||= token.endsWith('-2019');
      if (token.endsWith('-2019')) await held;
      return fixture.warehouse.insertEvents(rows, token);
    };
    const worker = fixture.newWorker({ warehouse: { ...fixture.warehouse, insertEvents } });
    const running = worker.run();
    const old = await fixture.append({ websiteId, createdAtMs: Date.UTC(2019, 4, 1) });
    await expect.poll(() => isHeld).toBe(true);
    const live = await fixture.append({ websiteId }, { websiteId });
    await expect.poll(() => fixture.storedIds()).toEqual(live);
    goOn();
    await untilConsumed();
    expect(await fixture.storedIds()).toEqual([...old, ...live].sort());
    await worker.stop();
    await running;
  });

  test('nothing of deleted or unknown websites, and nothing that was collected before a reset', async () => {
    const [open, deleted, reset] = [await fixture.newWebsite(), await fixture.newWebsite(), await fixture.newWebsite()];
    const resetAt = new Date();
    await fixture.registry.deleteWebsite(deleted, testActor);
    await fixture.registry.resetWebsite(reset, resetAt, testActor);
    const [kept] = await fixture.append({ websiteId: open }, { websiteId: deleted }, { websiteId: randomUUID() });
    await fixture.appendCollectedAt(resetAt.getTime() - 1, { websiteId: reset });
    const backfill = { websiteId: reset, createdAtMs: Date.UTC(2020, 1, 1) };
    const [backfilledLater] = await fixture.appendCollectedAt(resetAt.getTime() + 1, backfill);
    void fixture.newWorker().run();
    await untilConsumed();
    expect(await fixture.storedIds()).toEqual([kept, backfilledLater].sort());
    expect(await fixture.deadLetters()).toEqual([]);
  });
});

describe('an event that cannot be stored', () => {
  beforeEach(() => fixture.ask("ALTER TABLE {db}.events ADD CONSTRAINT odd CHECK tag != 'odd'"));

  test('becomes a dead letter, and its neighbours of the same batch are stored', async () => {
    const websiteId = await fixture.newWebsite();
    const ids = await fixture.append(
      ...many(200, (i) => ({
        websiteId,
        ...((i === 0 || i === 77) && { tag: 'odd' }),
      })),
    );
    void fixture.newWorker().run();
    await untilConsumed();
    expect(await fixture.storedIds()).toEqual(ids.filter((_, i) => i !== 0 && i !== 77));
    const letters = await fixture.deadLetters();
    expect(letters.map((letter) => letter.eventId).sort()).toEqual([ids[0], ids[77]]);
    expect(letters[0]?.reason).toContain('odd');
  });

  test('identify with properties that are none becomes one too', async () => {
    const websiteId = await fixture.newWebsite();
    const ids = await fixture.append({ websiteId, type: 'identify', data: '{' }, { websiteId });
    void fixture.newWorker().run();
    await untilConsumed();
    expect(await fixture.storedIds()).toEqual([ids[1]]);
    expect((await fixture.deadLetters()).map((letter) => letter.eventId)).toEqual([ids[0]]);
  });

  test('and cannot become a dead letter stops the worker; nothing leaves the log', async () => {
    const websiteId = await fixture.newWebsite();
    await fixture.redis.set(deadLettersKey(partitionOf(websiteId, partitions)), 'not a stream');
    await fixture.append({ websiteId }, { websiteId, tag: 'odd' });
    await expect(fixture.newWorker().run()).rejects.toThrow('WRONGTYPE');
    expect(await fixture.entriesLeft()).toBe(1);
  });
});

describe('while a store is away', () => {
  test('ClickHouse: events wait, and are stored once when it is back; answers that were lost double nothing', async () => {
    const websiteId = await fixture.newWebsite();
    void fixture.newWorker().run();
    fixture.proxy.goDown();
    const ids = await fixture.append(...many(100, () => ({ websiteId })));
    await expect.poll(() => fixture.redis.hlen('event-batches')).toBe(1);
    fixture.proxy.loseAnswers(3);
    fixture.proxy.goUp();
    await untilConsumed();
    expect(fixture.proxy.lostAll()).toBe(true);
    expect(await fixture.storedIds()).toEqual(ids);
    expect(await fixture.ask(`SELECT sum(pageviews) FROM {db}.site_15m WHERE website_id = '${websiteId}'`)).toEqual([
      '100',
    ]);
  });

  test('ClickHouse dies between the events and their views: the worker that takes over completes every view', async () => {
    const websiteId = await fixture.newWebsite();
    for (const view of ['site_15m_mv', 'site_visits_mv', 'site_texts_mv'])
      await fixture.ask(`DETACH TABLE {db}.${view}`);
    const ids = await storeWithoutAnswer(many(100, () => ({ websiteId })));
    for (const view of ['site_15m_mv', 'site_visits_mv', 'site_texts_mv'])
      await fixture.ask(`ATTACH TABLE {db}.${view}`);
    void fixture.newWorker().run();
    await untilConsumed();
    expect(await findWrongRows(fixture.urls.clickhouse)).toEqual([]);
    expect(await fixture.storedIds()).toEqual(ids);
  });

  test('ClickHouse has forgotten the token of a stored batch that another worker takes over: nothing is doubled', async () => {
    const websiteId = await fixture.newWebsite();
    for (const table of ['events', 'site_15m', 'site_visits', 'site_texts'])
      await fixture.ask(`ALTER TABLE {db}.${table} MODIFY SETTING non_replicated_deduplication_window = 10`);
    const ids = await storeWithoutAnswer(many(10, () => ({ websiteId })));
    await createTestSite(fixture.warehouse).insert(many(20, (month) => ({ t: Date.UTC(2020, month, 15) })));
    const remembersTokensSince: Warehouse['remembersTokensSince'] = (sinceMs) =>
      fixture.warehouse.remembersTokensSince(sinceMs, { partsMax: 5 });
    void fixture.newWorker({ warehouse: { ...fixture.warehouse, remembersTokensSince } }).run();
    await untilConsumed();
    expect(await fixture.storedIds(websiteId)).toEqual(ids);
    expect(await findWrongRows(fixture.urls.clickhouse)).toEqual([]);
  });

  test('ClickHouse forgets the tokens of a batch of two years that another worker took over, while its first year waits: nothing is doubled', async () => {
    const websiteId = await fixture.newWebsite();
    for (const table of ['events', 'site_15m', 'site_visits', 'site_texts'])
      await fixture.ask(`ALTER TABLE {db}.${table} MODIFY SETTING non_replicated_deduplication_window = 10`);
    const { warehouse } = fixture;
    let stored = 0;
    const storeBoth: Warehouse['insertEvents'] = async (rows, token) => {
      await warehouse.insertEvents(rows, token);
      stored += 1;
      if (token.endsWith('-2021')) throw new WarehouseError('unavailable', 'no answer');
    };
    const first = fixture.newWorker({ warehouse: { ...warehouse, insertEvents: storeBoth } });
    const running = first.run();
    await expect.poll(() => fixture.redis.exists('backfill-events-restart')).toBe(1); // what is there at the first look is asked about
    const ids = await fixture.append(...[2020, 2021].map((year) => ({ websiteId, createdAtMs: Date.UTC(year, 3, 3) })));
    await expect.poll(() => stored).toBeGreaterThan(1);
    await first.stop();
    await running;
    expect(await fixture.entriesLeft()).toBeGreaterThan(0);
    let tries = 0;
    const insertEvents: Warehouse['insertEvents'] = async (rows, token) => {
      if (++tries > 1) return warehouse.insertEvents(rows, token);
      await createTestSite(warehouse).insert(many(20, (month) => ({ t: Date.UTC(2020, month, 15) })));
      throw new WarehouseError('unavailable', 'ClickHouse has too much to do');
    };
    const remembersTokensSince: Warehouse['remembersTokensSince'] = (sinceMs) =>
      warehouse.remembersTokensSince(sinceMs, { partsMax: 5 });
    void fixture.newWorker({ warehouse: { ...warehouse, insertEvents, remembersTokensSince } }).run();
    await untilConsumed();
    expect(await fixture.storedIds(websiteId)).toEqual(ids);
    expect(await findWrongRows(fixture.urls.clickhouse)).toEqual([]);
    expect(tries).toBe(1); // what is stored is not sent again
  });

  test('a block is stored without an answer, and ClickHouse has forgotten its token when it is to be sent again: nothing is doubled', async () => {
    const websiteId = await fixture.newWebsite();
    for (const table of ['events', 'site_15m', 'site_visits', 'site_texts'])
      await fixture.ask(`ALTER TABLE {db}.${table} MODIFY SETTING non_replicated_deduplication_window = 10`);
    let tries = 0;
    const insertEvents: Warehouse['insertEvents'] = async (rows, token) => {
      await fixture.warehouse.insertEvents(rows, token);
      if (++tries > 1) return;
      await createTestSite(fixture.warehouse).insert(many(20, (month) => ({ t: Date.UTC(2020, month, 15) })));
      throw new WarehouseError('unavailable', 'no answer');
    };
    const remembersTokensSince: Warehouse['remembersTokensSince'] = (sinceMs) =>
      fixture.warehouse.remembersTokensSince(sinceMs, { partsMax: 5 });
    void fixture.newWorker({ warehouse: { ...fixture.warehouse, insertEvents, remembersTokensSince } }).run();
    const ids = await fixture.append(...many(10, () => ({ websiteId })));
    await untilConsumed();
    expect(await fixture.storedIds(websiteId)).toEqual(ids);
    expect(await findWrongRows(fixture.urls.clickhouse)).toEqual([]);
  });

  test('a worker ends behind a portion of properties, and a website of theirs is reset: the other portions are stored', async () => {
    const [reset, kept] = [await fixture.newWebsite(), await fixture.newWebsite()];
    const data = JSON.stringify(Object.fromEntries(many(1_000, (i) => [`p${i}`, i])));
    await fixture.append(...many(60, (n) => ({ websiteId: n < 5 ? reset : kept, type: 'identify' as const, data })));
    let portions = 0;
    const insertSessionProperties: Warehouse['insertSessionProperties'] = async (rows, token) => {
      if (portions === 0) await fixture.warehouse.insertSessionProperties(rows, token);
      portions += 1;
      throw new WarehouseError('unavailable', 'no answer');
    };
    const first = fixture.newWorker({ warehouse: { ...fixture.warehouse, insertSessionProperties } });
    const running = first.run();
    await expect.poll(() => portions).toBeGreaterThan(0);
    await first.stop();
    await running;
    await fixture.registry.resetWebsite(reset, new Date(), testActor);
    void fixture.newWorker().run();
    await untilConsumed();
    expect(await fixture.ask(`SELECT count() FROM {db}.session_properties FINAL WHERE website_id = '${kept}'`)).toEqual(
      ['55000'],
    );
  }, 60_000);

  test('ClickHouse has no memory for whole batches: parts are stored, and what is stored already is completed', async () => {
    const websiteId = await fixture.newWebsite();
    const views = ['site_15m_mv', 'site_visits_mv', 'site_texts_mv'];
    const attempts: number[] = [];
    const insertEvents: Warehouse['insertEvents'] = async (rows, token) => {
      const bytes = Buffer.concat(rows).length;
      attempts.push(bytes);
      const none = new WarehouseError('limit', 'Memory limit exceeded');
      // The whole block fails before its events are stored; of the first part, they are stored, and it goes on to fail.
      if (bytes === attempts[0]) throw none;
      const parts = attempts.filter((one) => one !== attempts[0]).length;
      if (parts > 10) return fixture.warehouse.insertEvents(rows, token);
      if (parts > 1) throw none;
      for (const view of views) await fixture.ask(`DETACH TABLE {db}.${view}`);
      await fixture.warehouse.insertEvents(rows, token);
      for (const view of views) await fixture.ask(`ATTACH TABLE {db}.${view}`);
      throw none;
    };
    const ids = await fixture.append(...many(100, () => ({ websiteId })));
    void fixture.newWorker({ warehouse: { ...fixture.warehouse, insertEvents } }).run();
    await untilConsumed();
    const [first, ...parts] = [...new Set(attempts)];
    expect(Math.max(...parts)).toBeLessThan((first ?? 0) / 10);
    for (const size of [first, parts[0]]) expect(attempts.filter((one) => one === size).length).toBeGreaterThan(1);
    expect(await fixture.storedIds()).toEqual(ids);
    expect(await findWrongRows(fixture.urls.clickhouse)).toEqual([]);
    expect(await fixture.deadLetters()).toEqual([]);
  });

  test('Postgres: events wait, none is dropped', async () => {
    const websiteId = await fixture.newWebsite();
    let failures = 3;
    const findWebsiteStatuses = async (ids: readonly string[]) => {
      failures -= 1;
      if (failures >= 0) throw new RegistryError('unavailable', 'The registry is not available');
      return fixture.registry.findWebsiteStatuses(ids);
    };
    const ids = await fixture.append({ websiteId });
    void fixture.newWorker({ registry: { ...fixture.registry, findWebsiteStatuses } }).run();
    await untilConsumed();
    expect(await fixture.storedIds()).toEqual(ids);
  });

  test('a worker that stops gives its batch up, and another one stores it', async () => {
    const websiteId = await fixture.newWebsite();
    const stopped = fixture.newWorker();
    fixture.proxy.goDown();
    const running = stopped.run();
    const ids = await fixture.append(...many(100, () => ({ websiteId })));
    await expect.poll(() => fixture.redis.hlen('event-batches')).toBe(1);
    await stopped.stop();
    await running;
    expect(await fixture.entriesLeft()).toBeGreaterThan(0);
    fixture.proxy.goUp();
    void fixture.newWorker().run();
    await untilConsumed();
    expect(await fixture.storedIds()).toEqual(ids);
  });
});
