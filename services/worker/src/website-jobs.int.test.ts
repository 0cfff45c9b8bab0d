import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { readEventCounts } from '@meridian/queue/event-counts';
import { createJobs } from '@meridian/queue/jobs';
import { connectWorker } from '@meridian/queue/test-redis';
import { publishWebsiteChange } from '@meridian/queue/website-changes';
import { testActor } from '@meridian/registry/registry-fixtures';
import { findWrongRows } from '@meridian/warehouse/rollups/test-rollups';
import { createWarehouse, type Warehouse } from '@meridian/warehouse/warehouse';
import { WarehouseError } from '@meridian/warehouse/warehouse-error';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createWebsiteJobs } from './website-jobs.ts';
import { createWorkerFixture, partitions, type WorkerFixture } from './worker-fixture.ts';

let fixture: WorkerFixture;
let jobs: ReturnType<typeof createJobs>;
beforeEach(async () => {
  fixture = await createWorkerFixture();
  jobs = createJobs(fixture.urls.redis);
});
afterEach(async () => {
  await jobs.close();
  await fixture.close();
});

const many = <Value>(count: number, value: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, i) => value(i));
const until = { timeout: 30_000 };
const purgedAt = async (id: string) =>
  (await fixture.sql('SELECT purged_at FROM website WHERE id = $1', [id]))[0]?.purged_at;
const untilPurged = (id: string) => expect.poll(() => purgedAt(id), until).not.toBeNull();

/** Rows of the website in every table of the warehouse that has a website. */
async function rowsEverywhere(websiteId: string): Promise<number> {
  const tables = await fixture.ask(
    `SELECT DISTINCT table FROM system.columns WHERE database = '{db}' AND name = 'website_id'
     AND table IN (SELECT name FROM system.tables WHERE database = '{db}' AND engine LIKE '%MergeTree')`,
  );
  expect(tables.length).toBeGreaterThan(2);
  const counts = tables.map((table) => `SELECT count() AS n FROM {db}.${table} WHERE website_id = '${websiteId}'`);
  return Number(await fixture.ask(`SELECT sum(n) FROM (${counts.join(' UNION ALL ')})`));
}

async function deleteAndOrder(websiteId: string): Promise<void> {
  await fixture.registry.deleteWebsite(websiteId, testActor);
  await publishWebsiteChange(fixture.redis, websiteId);
  await jobs.purgeWebsite(websiteId);
}

test('a website deleted with a thousand events in flight leaves no row anywhere; its neighbour loses none', async () => {
  const [website, neighbour] = [await fixture.newWebsite(), await fixture.newWebsite()];
  void fixture.newWorker().run();
  await fixture.append(...many(500, () => ({ websiteId: website })), {
    websiteId: website,
    type: 'identify',
    data: '{"plan":"pro"}',
  });
  await expect.poll(() => rowsEverywhere(website), until).toBeGreaterThan(500);
  const inFlight = many(20, () =>
    fixture.append(...many(50, () => ({ websiteId: website })), { websiteId: neighbour }),
  );
  await deleteAndOrder(website);
  await Promise.all(inFlight);
  await untilPurged(website);
  await expect.poll(() => fixture.entriesLeft(), until).toBe(0);
  expect(await rowsEverywhere(website)).toBe(0);
  expect(await fixture.storedIds(neighbour)).toHaveLength(20);
  // Every event had a session of its own: what is left are the neighbour's visits.
  expect(await fixture.redis.keys('visits:*')).toHaveLength(20);
});

test('an order to purge a website of another region is none: only the workers there know when its events are gone', async () => {
  const [foreign, own] = [await fixture.newWebsite(), await fixture.newWebsite()];
  await fixture.sql("UPDATE website SET region = 'eu' WHERE id = $1", [foreign]);
  void fixture.newWorker().run();
  await deleteAndOrder(foreign);
  await deleteAndOrder(own);
  await untilPurged(own);
  expect(await purgedAt(foreign)).toBeNull();
});

test('dead letters of a deleted website go with it', async () => {
  const website = await fixture.newWebsite();
  await fixture.ask("ALTER TABLE {db}.events ADD CONSTRAINT odd CHECK tag != 'odd'");
  void fixture.newWorker().run();
  await fixture.append({ websiteId: website, tag: 'odd' });
  await expect.poll(() => fixture.deadLetters(), until).toHaveLength(1);
  await deleteAndOrder(website);
  await untilPurged(website);
  expect(await fixture.deadLetters()).toEqual([]);
  expect(await fixture.redis.keys('visits:*')).toEqual([]);
});

test('a batch that was judged before the deletion and is stored long after it is removed, too', async () => {
  const websiteId = await fixture.newWebsite();
  const warehouse = createWarehouse(fixture.urls.clickhouse);
  const order: string[] = [];
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const redis = await connectWorker(fixture.urls.redis);
  const looksAtLog = vi.spyOn(redis, 'xrange'); // the purge waits for the batch, and looks again and again
  const worker = fixture.newWorker({
    redis,
    warehouse: {
      ...warehouse,
      async insertEvents(rows, token) {
        order.push('judged');
        await released;
        await warehouse.insertEvents(rows, token);
        order.push('stored');
      },
      async purgeWebsite(id) {
        order.push('removed');
        await warehouse.purgeWebsite(id);
      },
    },
  });
  await fixture.append(...many(100, () => ({ websiteId })));
  void worker.run();
  await expect.poll(() => order, until).toContain('judged');
  await deleteAndOrder(websiteId);
  await expect.poll(() => looksAtLog.mock.calls.length, until).toBeGreaterThan(2 * partitions);
  release();
  await untilPurged(websiteId);
  expect(order).toEqual(['judged', 'stored', 'removed']);
  expect(await rowsEverywhere(websiteId)).toBe(0);
  await worker.stop();
  redis.disconnect();
  await warehouse.close();
});

test('a purge that was never ordered is found and done', async () => {
  const websiteId = await fixture.newWebsite();
  await fixture.append({ websiteId });
  await fixture.registry.deleteWebsite(websiteId, testActor);
  void fixture.newWorker().run();
  await untilPurged(websiteId);
  expect(await rowsEverywhere(websiteId)).toBe(0);
});

test('a website that is not deleted is not purged, whatever was ordered', async () => {
  const [open, deleted] = [await fixture.newWebsite(), await fixture.newWebsite()];
  const [id] = await fixture.append({ websiteId: open });
  void fixture.newWorker().run();
  await expect.poll(() => fixture.storedIds(open), until).toEqual([id]);
  await jobs.purgeWebsite(open);
  await deleteAndOrder(deleted);
  await untilPurged(deleted);
  expect(await fixture.storedIds(open)).toEqual([id]);
});

test('a reset removes what was collected before it, stored or in flight; what comes later stays, whatever its event time', async () => {
  const [website, neighbour] = [await fixture.newWebsite(), await fixture.newWebsite()];
  const [kept] = await fixture.append({ websiteId: neighbour });
  await fixture.append(...many(100, () => ({ websiteId: website })));
  void fixture.newWorker().run();
  await expect.poll(() => fixture.storedIds(website), until).toHaveLength(100);

  const resetAt = new Date();
  const atMs = resetAt.getTime();
  const collected = (createdAtMs: number) => ({ websiteId: website, createdAtMs });
  const inFlight = fixture.appendCollectedAt(atMs - 1, ...many(100, () => collected(Date.now())));
  await fixture.registry.resetWebsite(website, resetAt, testActor);
  await publishWebsiteChange(fixture.redis, website);
  await jobs.resetWebsite(website, resetAt);
  await inFlight;
  const later = await fixture.appendCollectedAt(atMs + 5, collected(Date.UTC(2020, 1, 1)), collected(Date.now()));
  await expect.poll(() => fixture.redis.keys('{bull}:jobs:reset-*'), until).toEqual([]);
  await expect.poll(() => fixture.storedIds(website), until).toEqual([...later].sort());
  expect(await fixture.storedIds(neighbour)).toEqual([kept]);
  expect(await fixture.ask(`SELECT sum(pageviews) FROM {db}.site_15m WHERE website_id = '${website}'`)).toEqual(['2']);
});

test('a reset leaves right rollups also where blocks are stored without their views while it works, and are sent again behind that', async () => {
  const websiteId = await fixture.newWebsite();
  const views = ['site_15m_mv', 'site_visits_mv', 'site_texts_mv'];
  const none = new WarehouseError('limit', 'Memory limit exceeded');
  let memory: 'enough' | 'for events' | 'none' = 'enough';
  const insertEvents: Warehouse['insertEvents'] = async (rows, token) => {
    if (memory === 'enough') return fixture.warehouse.insertEvents(rows, token);
    if (memory === 'for events') {
      for (const view of views) await fixture.ask(`DETACH TABLE {db}.${view}`);
      await fixture.warehouse.insertEvents(rows, token);
      for (const view of views) await fixture.ask(`ATTACH TABLE {db}.${view}`);
      memory = 'none';
    }
    throw none;
  };
  let blocks = 0;
  const behindHalfABlock =
    <Args extends unknown[], Value>(work: (...args: Args) => Promise<Value>) =>
    async (...args: Args): Promise<Value> => {
      if (blocks++ < 2) {
        memory = 'for events';
        await fixture.append({ websiteId }, { websiteId }, { websiteId });
        await expect.poll(() => memory, until).toBe('none');
      }
      return work(...args).finally(() => {
        memory = 'enough';
      });
    };
  const { purgeCollectedBefore, repairRollups } = fixture.warehouse;
  void fixture
    .newWorker({
      warehouse: {
        ...fixture.warehouse,
        insertEvents,
        purgeCollectedBefore: behindHalfABlock(purgeCollectedBefore),
        repairRollups: behindHalfABlock(repairRollups),
      },
    })
    .run();
  await fixture.append({ websiteId }, { websiteId });
  await expect.poll(() => fixture.storedIds(websiteId), until).toHaveLength(2);
  const sentMs = Date.now();
  await expect.poll(() => Date.now()).toBeGreaterThan(sentMs);
  const resetAt = new Date();
  await fixture.registry.resetWebsite(websiteId, resetAt, testActor);
  await jobs.resetWebsite(websiteId, resetAt);
  await expect.poll(() => fixture.registry.listPendingResets('us'), { timeout: 60_000 }).toEqual([]);
  await expect.poll(() => fixture.entriesLeft(), until).toBe(0);
  expect(await findWrongRows(fixture.urls.clickhouse)).toEqual([]);
  expect(await fixture.storedIds(websiteId)).toHaveLength(6);
}, 120_000);

test('of a website one removal is done at a time, and no reset that a later one follows', async () => {
  const latest = new Date(2_000);
  const status = { region: 'us', resetAt: latest, deleted: false };
  const done: Date[] = [];
  const underWay = { now: 0, most: 0 };
  const ofSome = createWebsiteJobs({
    registry: {
      findWebsiteStatus: async () => status,
      markWebsiteReset: async () => {},
      markWebsitePurged: async () => {},
    },
    warehouse: {
      findRecentSessions: async () => [],
      async purgeCollectedBefore(_, before) {
        underWay.most = Math.max(underWay.most, ++underWay.now);
        await delay(500);
        underWay.now--;
        done.push(before);
      },
      repairRollups: async () => false,
      purgeWebsite: async () => {},
    },
    redis: fixture.redis,
    partitions,
    region: 'us',
  });
  const website = randomUUID();
  const never = new AbortController().signal;
  await Promise.all([new Date(1_000), latest, latest].map((before) => ofSome.resetWebsite(website, before, never)));
  expect([done, underWay.most]).toEqual([[latest, latest], 1]);
  expect(await fixture.redis.keys('website-removal:*')).toEqual([]);
});

test('a visit goes on over a reset, also while an event from before it is still in the log', async () => {
  const websiteId = await fixture.newWebsite();
  const [goesOn, left] = [randomUUID(), randomUUID()].map((sessionId) => ({ websiteId, sessionId }));
  await fixture.append({ ...goesOn }, { ...left });
  const sentMs = Date.now();
  await expect.poll(() => Date.now()).toBeGreaterThan(sentMs);
  await fixture.registry.resetWebsite(websiteId, new Date(), testActor);
  await fixture.append({ ...goesOn });
  void fixture.newWorker().run();
  await expect.poll(() => fixture.entriesLeft(), until).toBe(0);
  expect(await fixture.redis.keys('visits:*')).toHaveLength(1);
  await fixture.append({ ...goesOn });
  await expect.poll(() => fixture.storedIds(websiteId), until).toHaveLength(2);
  expect(await fixture.ask('SELECT uniqExact(visit_id) FROM {db}.events')).toEqual(['1']);
});

test('with a reset go the dead letters that were collected before it, counted as removed, and what Redis remembers', async () => {
  const [website, neighbour] = [await fixture.newWebsite(), await fixture.newWebsite()];
  await fixture.ask("ALTER TABLE {db}.events ADD CONSTRAINT odd CHECK tag != 'odd'");
  void fixture.newWorker().run();
  const resetAt = new Date(Date.now() + 1_000);
  const odd = (websiteId: string) => ({ websiteId, tag: 'odd' });
  await fixture.append(odd(website), { websiteId: website });
  const kept = await fixture.append(odd(neighbour));
  const later = await fixture.appendCollectedAt(resetAt.getTime() + 5, odd(website));
  await expect.poll(() => fixture.deadLetters(), until).toHaveLength(3);
  await expect.poll(() => fixture.storedIds(website), until).toHaveLength(1);
  await expect.poll(() => Date.now()).toBeGreaterThan(resetAt.getTime());

  await fixture.registry.resetWebsite(website, resetAt, testActor);
  await publishWebsiteChange(fixture.redis, website);
  await jobs.resetWebsite(website, resetAt);
  await expect.poll(() => fixture.redis.keys('{bull}:jobs:reset-*'), until).toEqual([]);
  const letters = await fixture.deadLetters();
  expect(letters.map(({ eventId }) => eventId).sort()).toEqual([...kept, ...later].sort());
  expect(await readEventCounts(fixture.redis)).toMatchObject({ accepted: 4, deadLettered: 2, removed: 1, stored: 1 });
  // Each event had a session of its own: what is left are the visits of those that are.
  expect(await fixture.redis.keys('visits:*')).toHaveLength(2);
});
