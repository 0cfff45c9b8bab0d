import { randomUUID } from 'node:crypto';
import { createFailedJobs } from '@meridian/queue/failed-jobs';
import { connectProducer, type OwnRedis, startOwnRedis } from '@meridian/queue/test-redis';
import { createMetricsText, type Metric } from '@meridian/runtime/metrics';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { regionMetrics } from './region-metrics.ts';
import { createWorkerCounts, workerMetrics } from './worker-counts.ts';
import { createWorkerFixture, partitions, type WorkerFixture } from './worker-fixture.ts';

let server: OwnRedis;
let fixture: WorkerFixture;
let inspector: Redis;
let failedJobs: ReturnType<typeof createFailedJobs>;
beforeEach(async () => {
  server = await startOwnRedis();
  fixture = await createWorkerFixture({ redisUrl: server.url });
  inspector = await connectProducer(server.url);
  failedJobs = createFailedJobs(server.url);
});
afterEach(async () => {
  await failedJobs.close();
  inspector.disconnect();
  await fixture.close();
  await server.remove();
});

/** Series of the product with their values, without single buckets. */
async function read(metrics: Metric[]): Promise<Record<string, number>> {
  const lines = (await createMetricsText(metrics).read()).split('\n');
  const series = lines.filter((line) => line.startsWith('meridian_') && !line.includes('_bucket'));
  return Object.fromEntries(series.map((line) => line.split(' ')).map(([name = '', value]) => [name, Number(value)]));
}
const readRegion = () => read(regionMetrics({ redis: inspector, partitions, failedJobs }));
const untilConsumed = () => expect.poll(() => fixture.entriesLeft()).toBe(0);

test('what becomes of the events is counted by the worker and for the region, and nothing is unaccounted', async () => {
  await fixture.ask("ALTER TABLE {db}.events ADD CONSTRAINT odd CHECK tag != 'odd'");
  const websiteId = await fixture.newWebsite();
  await fixture.append({ websiteId }, { websiteId }, { websiteId, tag: 'odd' }, { websiteId: randomUUID() });
  const waiting = await readRegion();
  expect(waiting).toMatchObject({
    'meridian_region_events{state="accepted"}': 4,
    'meridian_region_events{state="queued"}': 4,
    meridian_region_events_unaccounted: 0,
  });
  expect(waiting.meridian_event_log_entries).toBeGreaterThan(0);
  expect(waiting.meridian_event_log_bytes).toBeGreaterThan(0);
  expect(waiting.meridian_event_log_lag_seconds).toBeGreaterThan(0);

  const counts = createWorkerCounts();
  const startedAt = counts.lastEndedAt;
  void fixture.newWorker({ counts }).run();
  await untilConsumed();
  await expect.poll(() => counts.batches.written).toBeGreaterThan(0);
  expect(await read(workerMetrics(counts))).toMatchObject({
    'meridian_batches_total{outcome="lost"}': 0,
    meridian_events_stored_total: 2,
    meridian_events_dead_lettered_total: 1,
    meridian_events_removed_total: 1,
    meridian_insert_rows_sum: 2,
    meridian_store_retries_total: 0,
  });
  expect(counts.lastEndedAt).toBeGreaterThan(startedAt);
  expect(await readRegion()).toEqual({
    'meridian_region_events{state="accepted"}': 4,
    'meridian_region_events{state="queued"}': 0,
    'meridian_region_events{state="stored"}': 2,
    'meridian_region_events{state="dead_lettered"}': 1,
    'meridian_region_events{state="removed"}': 1,
    'meridian_region_events{state="dropped"}': 0,
    meridian_region_events_unaccounted: 0,
    meridian_event_log_entries: 0,
    meridian_event_log_bytes: expect.any(Number),
    meridian_event_log_lag_seconds: 0,
    meridian_backfill_lag_seconds: 0,
    meridian_dead_letters: 1,
    meridian_jobs_failed: 0,
  });
});

test('attempts that are repeated because ClickHouse is away are counted', async () => {
  const websiteId = await fixture.newWebsite();
  const counts = createWorkerCounts();
  const warehouse = createWarehouse('http://127.0.0.1:1/nowhere');
  const worker = fixture.newWorker({ counts, warehouse });
  void worker.run();
  await fixture.append({ websiteId });
  await expect.poll(() => counts.retries).toBeGreaterThan(1);
  expect(counts).toMatchObject({ stored: 0, batches: { written: 0, lost: 0 } });
  await worker.stop();
  await warehouse.close();
});

test('while Redis is away what it would tell is absent and not 0; afterwards it is there again', async () => {
  const names = Object.keys(await readRegion());
  expect(names.length).toBeGreaterThan(10);
  await server.kill();
  expect(await readRegion()).toEqual({});
  await server.start();
  await expect.poll(async () => Object.keys(await readRegion())).toEqual(names);
});

test('while Redis hangs the metrics answer all the same, without what it would tell', async () => {
  server.signal('SIGSTOP');
  const told = await readRegion();
  server.signal('SIGCONT');
  expect(told).toEqual({});
});
