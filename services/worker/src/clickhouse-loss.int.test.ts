import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Stores, startStores } from '@meridian/embedded/stores';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorkerFixture, type WorkerFixture } from './worker-fixture.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'meridian-worker-'));
const until = { timeout: 60_000, interval: 100 };
let stores: Stores;
let fixture: WorkerFixture;

beforeAll(async () => {
  const { TEST_DATABASE_URL: databaseUrl, TEST_REDIS_URL: redisUrl } = process.env;
  stores = await startStores({ dataDir, databaseUrl, redisUrl });
  fixture = await createWorkerFixture({ clickhouseUrl: stores.clickhouseUrl });
}, 120_000);
afterAll(async () => {
  await fixture.close();
  await stores.stop();
  rmSync(dataDir, { recursive: true, force: true });
}, 60_000);

const killClickHouse = (): void =>
  void process.kill(JSON.parse(readFileSync(join(dataDir, 'run', 'clickhouse.pid'), 'utf8')).pid, 'SIGKILL');

test('ClickHouse is killed in the middle of inserts, again and again: every event is stored once, in every table', async () => {
  const websiteId = await fixture.newWebsite();
  void fixture.newWorker().run();
  const accepted: string[] = [];
  for (let kill = 0; kill < 5; kill++) {
    const storedBefore = accepted.length;
    for (let i = 0; i < 20; i++) {
      accepted.push(...(await fixture.append(...Array.from({ length: 100 }, () => ({ websiteId })))));
      if (i === 10) killClickHouse();
      await delay(5);
    }
    // It is back, and has taken something in, before the next kill.
    await expect
      .poll(
        () =>
          fixture.storedIds().then(
            (ids) => ids.length,
            () => 0,
          ),
        until,
      )
      .toBeGreaterThan(storedBefore);
  }
  await expect.poll(() => fixture.entriesLeft(), until).toBe(0);
  expect(await fixture.storedIds()).toEqual(accepted.sort());
  expect(await fixture.ask('SELECT sum(pageviews) FROM {db}.site_15m')).toEqual([String(accepted.length)]);
}, 240_000);
