import { randomUUID } from 'node:crypto';
import { type OwnRedis, startOwnRedis } from '@meridian/queue/test-redis';
import { createMetricsText } from '@meridian/runtime/metrics';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { collectMetrics } from './collect-counts.ts';
import { call, startTestIngest } from './ingest-fixtures.ts';

let redis: OwnRedis;
let ingest: Awaited<ReturnType<typeof startTestIngest>>;
let website: string;
beforeEach(async () => {
  redis = await startOwnRedis();
  ingest = await startTestIngest({}, { redisUrl: redis.url });
  website = await ingest.newWebsite();
});
afterEach(async () => {
  await ingest.stop();
  await redis.remove();
});

const event = (fields: object = {}) => ({ type: 'event', payload: { website, url: '/', ...fields } });
const googlebot = { userAgent: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' };

/** The series that are not 0, without those of single buckets, sums and the process. */
async function counted(): Promise<Record<string, number>> {
  const lines = (await createMetricsText(collectMetrics(ingest.counts)).read()).split('\n');
  const series = lines.filter((line) => line.startsWith('meridian_') && !/_bucket|_sum/.test(line));
  const pairs = series.map((line) => line.split(' ')).map(([name = '', value]) => [name, Number(value)] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value !== 0));
}

test('every event is counted once, by what became of it, and every request by its route and answer', async () => {
  await ingest.send(event());
  await ingest.send(event(googlebot));
  await ingest.send(event({ website: randomUUID() }));
  await ingest.send('{');
  await ingest.batch([event(), event(), event(googlebot), null]);
  await ingest.batch({ not: 'an array' });
  await call(ingest.port, 'OPTIONS', '/api/send', undefined, { origin: 'https://a.example' });
  await call(ingest.port, 'GET', '/api/send', undefined, {});

  expect(await counted()).toEqual({
    meridian_events_accepted_total: 3,
    'meridian_events_ignored_total{reason="crawler"}': 2,
    'meridian_events_rejected_total{code="bad-request"}': 2,
    'meridian_collect_requests_refused_total{code="bad-request"}': 3,
    'meridian_collect_requests_refused_total{code="method-not-allowed"}': 1,
    meridian_event_log_append_duration_seconds_count: 2,
    'meridian_collect_request_duration_seconds_count{route="send",status="2xx"}': 2,
    'meridian_collect_request_duration_seconds_count{route="send",status="4xx"}': 3,
    'meridian_collect_request_duration_seconds_count{route="batch",status="2xx"}': 1,
    'meridian_collect_request_duration_seconds_count{route="batch",status="4xx"}': 1,
    'meridian_collect_request_duration_seconds_count{route="preflight",status="2xx"}': 1,
  });
});

test('a request that is repeated under its idempotency key is not accepted twice', async () => {
  const key = { 'idempotency-key': randomUUID() };
  const replies = [await ingest.send(event(), key), await ingest.send(event(), key)];
  expect(replies.map(({ status }) => status)).toEqual([200, 200]);
  expect(await counted()).toMatchObject({ meridian_events_accepted_total: 1 });
});

test('events that the log does not take are counted as failed appends, and none as accepted', async () => {
  await ingest.send(event());
  await redis.kill();
  expect((await ingest.send(event())).status).toBe(503);
  expect((await ingest.batch([event(), event()])).status).toBe(503);
  expect(await counted()).toMatchObject({
    meridian_events_accepted_total: 1,
    meridian_event_log_appends_failed_total: 2,
    'meridian_collect_requests_refused_total{code="service-unavailable"}': 2,
    'meridian_collect_request_duration_seconds_count{route="send",status="5xx"}': 1,
    'meridian_collect_request_duration_seconds_count{route="batch",status="5xx"}': 1,
  });
});

test('a collector that refuses events because of the log says for which reason', async () => {
  const overflow = `meridian_event_log_overflow{reason="age"}`;
  expect(await counted()).not.toHaveProperty([overflow]);
  await ingest.reader.xadd('events:{0}', '1-0', 'v', '3');
  await expect.poll(counted).toMatchObject({ [overflow]: 1 });
  expect((await ingest.send(event())).status).toBe(503);
});
