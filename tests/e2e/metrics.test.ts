import { freePort } from '@meridian/embedded/ports';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { always, chrome, createWebsite, logIn, request, type Stats } from '../api-client.ts';
import { startMeridian } from '../meridian.ts';
import { type Process, startProcess, startService, untilReady } from '../processes.ts';
import { createStores } from '../stores.ts';

const names = ['ingest', 'query', 'worker'] as const;
type Service = (typeof names)[number];
type Started = { process: Process; origin: string; metrics: string };

const services = new Map<Service, Started>();
let redis: Redis;
let drop: () => Promise<unknown>;

beforeAll(async () => {
  const stores = await createStores();
  drop = stores.drop;
  redis = new Redis(stores.env.REDIS_URL);
  const env = {
    ...stores.env,
    APP_SECRET: 'a secret of the tests of metrics, long enough',
    ADMIN_PASSWORD: 'a test password',
    LOG_SAMPLE_RATE: '1',
    STALL_MAX_MS: '1000',
  };
  const migration = startProcess('npm', ['run', '--silent', 'migrate'], env);
  if ((await migration.exited) !== 0) throw new Error(migration.output());
  for (const name of names) {
    const [port, metricsPort] = [await freePort(), await freePort()];
    const process = startService(name, { ...env, PORT: String(port), METRICS_PORT: String(metricsPort) });
    const [origin, metrics] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${metricsPort}/metrics`];
    services.set(name, { process, origin, metrics });
    await untilReady(process, `${origin}/readyz`);
  }
});

afterAll(async () => {
  for (const { process } of services.values()) process.kill('SIGTERM');
  await Promise.all([...services.values()].map(({ process }) => process.exited));
  redis?.disconnect();
  await drop?.();
});

function service(name: Service): Started {
  const started = services.get(name);
  if (!started) throw new Error(`${name} was not started`);
  return started;
}

/** Every series of a service with its value. */
const seriesOf = (name: Service) => readSeries(service(name).metrics);

async function readSeries(url: string): Promise<Map<string, number>> {
  const lines = (await (await fetch(url)).text()).split('\n');
  const series = lines.filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(series.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

test('every service tells what it did of the same events, labels name no website, and a log line is a pattern and no value', async () => {
  const owner = await logIn(`${service('query').origin}/api`, 'admin', 'a test password');
  const website = await createWebsite(owner);
  const batch = ['/a', '/b', '/c'].map((url) => ({ type: 'event', payload: { website: website.id, url } }));
  const sent = await request('POST', `${service('ingest').origin}/api/batch`, {
    headers: { 'user-agent': chrome },
    body: batch,
  });
  expect(sent.status).toBe(200);
  await owner.get<Stats>(`/websites/${website.id}/stats`, { ...always(), path: '/a-secret-value' });
  await expect.poll(async () => (await seriesOf('worker')).get('meridian_events_stored_total')).toBe(3);

  const [ingest, worker, query] = [await seriesOf('ingest'), await seriesOf('worker'), await seriesOf('query')];
  expect(ingest.get('meridian_events_accepted_total')).toBe(3);
  expect(ingest.get('meridian_collect_request_duration_seconds_count{route="batch",status="2xx"}')).toBe(1);
  expect(worker.get('meridian_region_events{state="stored"}')).toBe(3);
  expect(worker.get('meridian_region_events_unaccounted')).toBe(0);
  expect(worker.get('meridian_event_log_lag_seconds')).toBe(0);
  const stats = '{method="GET",route="/api/websites/:websiteId/stats",status="200"}';
  expect(query.get(`meridian_query_request_duration_seconds_count${stats}`)).toBe(1);
  // The question, before the first one how long events are kept, and before the first one of a website how many its days have.
  expect(query.get('meridian_clickhouse_query_duration_seconds_count{outcome="ok"}')).toBe(3);

  for (const series of [ingest, worker, query]) {
    expect(series.get('process_resident_memory_bytes')).toBeGreaterThan(0);
    expect([...series.keys()].join('\n')).not.toContain(website.id);
  }
  await expect.poll(() => service('query').process.output()).toContain('"route":"/api/websites/:websiteId/stats"');
  await expect.poll(() => service('ingest').process.output()).toContain('"route":"batch"');
  for (const name of names) expect(service(name).process.output()).not.toMatch(/a-secret-value|127\.0\.0\.1"|Mozilla/);
});

test('the public port has no metrics', async () => {
  for (const name of names) expect((await fetch(`${service(name).origin}/metrics`)).status).toBe(404);
});

test('a worker is not ready while events wait that it does not store, and ready again when none does', async () => {
  const readiness = async () => (await fetch(`${service('worker').origin}/readyz`)).json();
  expect(await readiness()).toEqual({ ok: true, notReady: [] });
  // Of a version that this worker does not know: it stays in the log for one that does.
  const entry = await redis.xadd('events:{0}', '*', 'v', '999', 'n', '1');
  await expect.poll(readiness).toEqual({ ok: false, notReady: ['storing'] });
  expect((await seriesOf('worker')).get('meridian_event_log_lag_seconds')).toBeGreaterThan(1);
  await redis.xdel('events:{0}', String(entry));
  await expect.poll(readiness).toEqual({ ok: true, notReady: [] });
});

test('one process with all services tells of all of them', async () => {
  const port = await freePort();
  const meridian = await startMeridian({ METRICS_PORT: String(port) });
  const names = new Set((await readSeries(`http://127.0.0.1:${port}/metrics`)).keys());
  await meridian.stop();
  for (const name of ['events_accepted_total', 'events_stored_total', 'dead_letters', 'rate_limited_total'])
    expect(names).toContain(`meridian_${name}`);
});
