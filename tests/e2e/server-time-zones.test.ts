import { freePort } from '@meridian/embedded/ports';
import { runPostgres } from '@meridian/embedded/postgres-store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Api, always, chrome, createApi, createWebsite, eventually, request, type Stats } from '../api-client.ts';
import { type Process, startProcess, startService, untilReady } from '../processes.ts';
import { createStores } from '../stores.ts';

const processes: Process[] = [];
const secret = { APP_SECRET: 'a secret of the end-to-end tests, long enough', ADMIN_PASSWORD: 'end-to-end' };
let stores: Awaited<ReturnType<typeof createStores>>;

/** Gives the origin of a service whose machine stands in that time zone. */
async function startIn(zone: string, name: 'ingest' | 'worker' | 'query'): Promise<string> {
  const port = await freePort();
  const service = startService(name, { ...stores.env, ...secret, TZ: zone, PORT: String(port) });
  processes.push(service);
  await untilReady(service, `http://127.0.0.1:${port}/readyz`);
  return `http://127.0.0.1:${port}`;
}

/** For connections that are made from now on. */
async function setPostgresZone(zone: string): Promise<void> {
  const database = new URL(stores.env.DATABASE_URL).pathname.slice(1);
  await runPostgres(stores.env.DATABASE_URL, `ALTER DATABASE "${database}" SET timezone = '${zone}'`);
}

beforeAll(async () => {
  stores = await createStores();
  await setPostgresZone('Asia/Shanghai');
  const migration = startProcess('npm', ['run', '--silent', 'migrate'], { ...stores.env, TZ: 'America/New_York' });
  if ((await migration.exited) !== 0) throw new Error(migration.output());
}, 120_000);

afterAll(async () => {
  for (const process of processes) process.kill('SIGTERM');
  await Promise.all(processes.map((process) => process.exited));
  await stores?.drop();
}, 60_000);

/** Hours that New York and Shanghai do not have, or have twice, and midnights of both. */
const instants = [
  '2025-11-02T05:30:00Z',
  '2025-11-02T06:30:00Z',
  '2026-03-08T06:59:59Z',
  '2026-03-08T07:30:00Z',
  '2026-06-10T03:59:59Z',
  '2026-06-10T04:00:00Z',
  '2026-06-10T16:00:00Z',
  '2026-06-10T23:59:59Z',
];

const range = { startDate: '2025-11-01', endDate: '2026-06-30' };
const questions: [string, Record<string, string>][] = [
  ['/stats', { ...range, compare: 'yoy' }],
  ['/stats', { startDate: '2026-06-10', endDate: '2026-06-10', timezone: 'America/New_York', compare: 'prev' }],
  ['/pageviews', { ...range, unit: 'day' }],
  ['/pageviews', { startDate: '2026-03-08', endDate: '2026-03-08', unit: 'hour', timezone: 'America/New_York' }],
  [
    '/pageviews',
    { startDate: '2025-11-02T00:00', endDate: '2025-11-02T12:00', unit: 'hour', timezone: 'Asia/Kathmandu' },
  ],
  ['/events', range],
  ['/metrics', { ...range, type: 'path' }],
  ['/metrics/expanded', { ...range, type: 'path' }],
  ['/active', {}],
  ['', {}],
];
const bodies = (api: Api, websiteId: string) =>
  Promise.all(
    questions.map(async ([route, query]) => JSON.stringify(await api.get(`/websites/${websiteId}${route}`, query))),
  );

test('the time zones of machines and of Postgres are in no number, no label and no instant', async () => {
  const [collector, origin] = [await startIn('America/New_York', 'ingest'), await startIn('America/New_York', 'query')];
  await startIn('Asia/Kathmandu', 'worker');
  const login = { username: 'admin', password: secret.ADMIN_PASSWORD };
  const { token } = (await request('POST', `${origin}/api/auth/login`, { body: login })).body as { token: string };
  const api = createApi(`${origin}/api`, token);
  const { id } = await createWebsite(api);
  for (const [i, instant] of instants.entries()) {
    const payload = { website: id, url: `/${i}`, id: 'one', timestamp: Date.parse(instant) / 1_000 };
    const body = { type: 'event', payload };
    expect((await request('POST', `${collector}/api/send`, { headers: { 'user-agent': chrome }, body })).status).toBe(
      200,
    );
  }
  await eventually(
    () => api.get<Stats>(`/websites/${id}/stats`, always()),
    ({ pageviews }) => pageviews === instants.length,
  );
  const { data } = await api.get<{ data: { createdAt: string }[] }>(`/websites/${id}/events`, range);
  expect(data.map(({ createdAt }) => createdAt)).toEqual(
    instants.toReversed().map((instant) => new Date(instant).toISOString()),
  );

  const asked = await bodies(api, id);
  await setPostgresZone('UTC');
  const elsewhere = createApi(`${await startIn('UTC', 'query')}/api`, token);
  expect(await bodies(elsewhere, id)).toEqual(asked);
}, 180_000);
