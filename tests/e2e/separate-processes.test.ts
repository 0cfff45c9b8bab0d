import { freePort } from '@meridian/embedded/ports';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allPaths, always, chrome, createWebsite, eventually, logIn, request, type Stats } from '../api-client.ts';
import { type Accepted, statsOf } from '../collector.ts';
import { type Process, startProcess, startService, untilReady } from '../processes.ts';
import { createStores } from '../stores.ts';

/**
 * Production's shape: two processes of each service, addresses in the environment, stores prepared by
 * `npm run migrate`.
 */
const processes: Process[] = [];
const ports = { ingest: [await freePort(), await freePort()], query: [await freePort(), await freePort()] };
const collect = (index: number) => `http://127.0.0.1:${ports.ingest[index]}/api`;
const api = (index: number) => `http://127.0.0.1:${ports.query[index]}/api`;
let drop: () => Promise<unknown>;

beforeAll(async () => {
  const stores = await createStores();
  drop = stores.drop;
  const env = {
    ...stores.env,
    APP_SECRET: 'a secret of the end-to-end tests, long enough',
    ADMIN_PASSWORD: 'end-to-end',
  };
  const migration = startProcess('npm', ['run', '--silent', 'migrate'], env);
  if ((await migration.exited) !== 0) throw new Error(migration.output());

  for (const name of ['ingest', 'query'] as const) {
    for (const port of ports[name]) {
      const service = startService(name, { ...env, PORT: String(port) });
      processes.push(service);
      await untilReady(service, `http://127.0.0.1:${port}/readyz`);
    }
  }
  processes.push(startService('worker', { ...env, PORT: '0' }), startService('worker', { ...env, PORT: '0' }));
});

afterAll(async () => {
  for (const process of processes) process.kill('SIGTERM');
  await Promise.all(processes.map((process) => process.exited));
  await drop?.();
});

test('events sent to either collector are answered by either query process, each once', async () => {
  const owner = await logIn(api(0), 'admin', 'end-to-end');
  const website = await createWebsite(owner);
  const sent = Array.from({ length: 100 }, (_, i) => `/page-${i}`);
  const answers = await Promise.all(
    sent.map((url, i) =>
      request('POST', `${collect(i % 2)}/send`, {
        headers: { 'user-agent': chrome },
        body: { type: 'event', payload: { website: website.id, url, id: 'one visitor' } },
      }),
    ),
  );
  expect(answers.map((answer) => answer.status)).toEqual(sent.map(() => 200));
  expect(new Set(answers.map((answer) => (answer.body as { visitId: string }).visitId)).size).toBe(1);

  const other = await logIn(api(1), 'admin', 'end-to-end');
  for (const reader of [owner, other]) {
    const stats = await eventually(
      () => reader.get<Stats>(`/websites/${website.id}/stats`, always()),
      (value) => value.pageviews >= sent.length,
    );
    expect(stats).toMatchObject({ pageviews: sent.length, visitors: 1, visits: 1, bounces: 0 });
    expect((await allPaths(reader, website.id)).sort()).toEqual([...sent].sort());
  }
});

/** Lines of the services' logs that say error or worse. */
const errorLines = () =>
  processes.flatMap((service) => service.output().split('\n')).filter((line) => /"level":[56]0/.test(line));

test.each([
  ['with an id', (visitor: number) => ({ id: `visitor ${visitor}` })],
  ['known by address and User-Agent only', (visitor: number) => ({ userAgent: `${chrome} App/${visitor}` })],
])(
  '50 first events at once of each of 4 visitors %s, at two collectors, are one session and one visit each',
  async (_, fields) => {
    const owner = await logIn(api(0), 'admin', 'end-to-end');
    const website = await createWebsite(owner);
    const visitors = [0, 1, 2, 3];
    const sent = visitors.flatMap((visitor) => Array.from({ length: 50 }, (_, i) => ({ visitor, i })));
    const answers = await Promise.all(
      sent.map(async ({ visitor, i }) => {
        const payload = { website: website.id, url: `/${visitor}/${i}`, ...fields(visitor) };
        const headers = { 'user-agent': chrome };
        const answer = await request('POST', `${collect(i % 2)}/send`, { headers, body: { type: 'event', payload } });
        expect(answer.status, answer.text).toBe(200);
        const { sessionId, visitId } = answer.body as Accepted;
        return `${visitor} ${sessionId} ${visitId}`;
      }),
    );
    expect(new Set(answers).size).toBe(visitors.length);
    await expect
      .poll(() => statsOf(owner, website.id))
      .toMatchObject({ pageviews: sent.length, visitors: 4, visits: 4, bounces: 0 });
    expect((await allPaths(owner, website.id)).sort()).toEqual(sent.map(({ visitor, i }) => `/${visitor}/${i}`).sort());
    expect(errorLines()).toEqual([]);
  },
);

test('a website that is deleted through one query process is refused by both collectors and gone from the other', async () => {
  const owner = await logIn(api(0), 'admin', 'end-to-end');
  const website = await createWebsite(owner);
  const send = (index: number) =>
    request('POST', `${collect(index)}/send`, {
      headers: { 'user-agent': chrome },
      body: { type: 'event', payload: { website: website.id, url: '/' } },
    });
  expect([(await send(0)).status, (await send(1)).status]).toEqual([200, 200]);
  await owner.ok('DELETE', `/websites/${website.id}`);
  await eventually(
    async () => [(await send(0)).status, (await send(1)).status],
    (statuses) => statuses.every((status) => status === 400),
  );
  const other = await logIn(api(1), 'admin', 'end-to-end');
  expect(await other.get(`/websites/${website.id}`)).toBeNull();
  await expect(other.get(`/websites/${website.id}/stats`)).rejects.toThrow(/404/);
});

test('a service without its configuration names every variable that is missing and exits with 1', async () => {
  const service = startService('query', { PORT: '0' });
  expect(await service.exited).toBe(1);
  for (const name of ['DATABASE_URL', 'CLICKHOUSE_URL', 'REDIS_URL', 'APP_SECRET']) {
    expect(service.output()).toContain(name);
  }
});

test('SIGTERM ends each service with 0', async () => {
  const stopping = processes.splice(0);
  for (const process of stopping) process.kill('SIGTERM');
  expect(await Promise.all(stopping.map((process) => process.exited))).toEqual(stopping.map(() => 0));
});
