import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { listen } from '@meridian/runtime/http/server';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueryApp } from '../create-query-app.ts';
import { createQueryListener } from '../create-query-listener.ts';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
beforeAll(async () => {
  api = await createStatisticsApi();
});
afterAll(() => api.close());

const routes = ['/stats', '/pageviews', '/events', '/active', '/metrics?type=path', '/metrics/expanded?type=path'];
const insides = /select|clickhouse|redis|postgres|DB::|\/src\//i;

test('an unknown website, a foreign one and what is no id are 404 alike, before the query is looked at', async () => {
  const site = await api.siteWith([{ t: '10:00' }]);
  const { token: stranger } = await api.newAccount();
  for (const route of routes) {
    const bad = `${route}${route.includes('?') ? '&' : '?'}startAt=x`;
    const answers = await Promise.all([
      api.call('GET', `/websites/${randomUUID()}${bad}`, { token: api.token }),
      api.call('GET', `/websites/not-a-uuid${bad}`, { token: api.token }),
      api.call('GET', `/websites/${site.id}${bad}`, { token: stranger }),
    ]);
    expect(
      answers.map(({ status }) => status),
      route,
    ).toEqual([404, 404, 404]);
    expect(new Set(answers.map(({ text }) => text)).size, route).toBe(1);
    expect((await api.call('GET', `/websites/${site.id}${route}`)).status, route).toBe(401);
    expect((await api.call('POST', `/websites/${site.id}${route}`, { token: api.token })).status, route).toBe(405);
  }
});

test('a path whose website is no id is 404, and nothing of it is answered', async () => {
  const site = await api.siteWith();
  for (const id of [
    '..%2f..%2f',
    `${site.id}%00`,
    `${site.id}'`,
    'x'.repeat(10_000),
    '%',
    '%ff',
    '%7B%7D',
    site.id.slice(1),
  ]) {
    const { status, text } = await api.call('GET', `/websites/${id}/stats`, { token: api.token });
    expect([status, insides.test(text)], id.slice(0, 50)).toEqual([404, false]);
  }
});

test('an id in upper case is the same website', async () => {
  const site = await api.siteWith();
  const answer = await api.call('GET', `/websites/${site.id.toUpperCase()}/active`, { token: api.token });
  expect([answer.status, answer.json]).toEqual([200, { visitors: 0 }]);
});

test.each([
  ['startAt', 'abc'],
  ['endDate', '2026-13-01'],
  ['timezone', 'Mars/Base'],
  ['timezone', "'; DROP TABLE x; --"],
  ['compare', 'last'],
  ['compare', 'prev,yoy'],
  ['match', 'xor'],
  ['match', 'ANY'],
  ['eventType', '0'],
  ['eventType', '1.5'],
  ['startAt', '9e99'],
  ['timezone', 'UTC+2'],
  ['timezone', 'x'.repeat(10_000)],
  ['segment', 'nonsense'],
  ['cohort', randomUUID()],
  ['path', `re.${'a'.repeat(201)}`],
])('%s=%s is 400 that names it', async (name, value) => {
  const site = await api.siteWith();
  const { status, json, text } = await site.get('/stats', { [name]: value });
  expect([status, json.error.code, Object.keys(json.error.properties)]).toEqual([400, 'bad-request', [name]]);
  expect(text).not.toMatch(insides);
});

test('a blank is a value as any other: 400 where it is none that the parameter has', async () => {
  const site = await api.siteWith();
  const names = ['startAt', 'endDate', 'timezone', 'unit', 'compare', 'match', 'eventType', 'segment', 'cohort'];
  for (const name of [...names, 'limit', 'offset', 'type'])
    for (const blank of [' ', '\t']) {
      const { status, json } = await site.get('/metrics', { type: 'path', [name]: blank });
      expect([name, status, Object.keys(json.error?.properties ?? {})]).toEqual([name, 400, [name]]);
    }
});

test('a unit that does not exist is 400 that names it', async () => {
  const site = await api.siteWith();
  for (const unit of ['week', 'quarter', 'second', 'DAY', "day'", '1', 'hour hour']) {
    const { status, json } = await site.get('/pageviews', { unit });
    expect([status, Object.keys(json.error.properties)]).toEqual([400, ['unit']]);
  }
});

test('an expression that is not valid is 400 that names its filter, with and without events; one that would backtrack is answered', async () => {
  for (const site of [
    await api.siteWith([{ t: '10:00', urlPath: '/aaaaaaaaaaaaaaaaaaaaaaaaaaaa!' }]),
    await api.siteWith(),
  ]) {
    const refused = await site.get('/stats', { path: 're.(' });
    expect([refused.status, insides.test(refused.text)]).toEqual([400, false]);
    expect(Object.keys(refused.json.error.properties)).toEqual(['path']);
    for (const route of ['/pageviews', '/events', '/metrics', '/metrics/expanded']) {
      const query = { type: 'path', path: '/a', title: 're.a+', utm_source2: 'nre.a{1001}' };
      const { status, json } = await site.get(route, query);
      expect([status, Object.keys(json.error.properties)], route).toEqual([400, ['utm_source2']]);
    }
    expect((await site.get('/stats', { path: 're.^(([a-z/])+.)+[A-Z]([a-z])+$' })).status).toBe(200);
  }
});

test.each([
  ...[
    "' OR '1'='1",
    "\\' OR 1=1 --",
    "') UNION ALL SELECT name,1 FROM system.tables --",
    '{x:String}',
    '\\',
    '`',
    '\u2019',
  ],
  ...['1; SYSTEM SHUTDOWN', '/*', '\\x27', '$1', '?', '\ud83d', 'a\0b', 'x'.repeat(6_000)],
])('a value is only a value: %j', async (value) => {
  const site = await api.siteWith([{ t: '10:00', urlPath: '/a' }]);
  const zeros = { pageviews: 0, visitors: 0, visits: 0, bounces: 0, totaltime: 0 };
  expect(await site.ask('/stats', { path: value })).toEqual(zeros);
  expect((await site.ask('/events', { search: value })).count).toBe(0);
  expect(await site.ask('/metrics', { type: 'path', search: value, title: value })).toEqual([]);
});

test('broken percent encodings are values as well', async () => {
  const site = await api.siteWith([{ t: '10:00' }]);
  for (const bad of ['%FF', '%ED%A0%BD', '%', '%zz', '%00'])
    expect((await api.call('GET', `/websites/${site.id}/stats?path=${bad}`, { token: api.token })).status, bad).toBe(
      200,
    );
});

test('when the warehouse is away the answer is 503 with Retry-After, never zeros', async () => {
  const site = await api.siteWith([{ t: '10:00' }]);
  const app = createQueryApp({ ...api.deps, warehouse: createWarehouse('http://127.0.0.1:1') });
  for (const route of routes) {
    const answer = await app.request(`/v1/us/websites/${site.id}${route}`, {
      headers: { authorization: `Bearer ${api.token}` },
    });
    expect([answer.status, Number(answer.headers.get('retry-after')) > 0], route).toEqual([503, true]);
    expect(await answer.text(), route).not.toMatch(insides);
  }
});

test('when the warehouse is away the process lives, and is not ready', async () => {
  const warehouse = createWarehouse('http://127.0.0.1:1');
  const server = await listen(createQueryListener({ ...api.deps, warehouse }), { port: 0, host: '127.0.0.1' });
  const ask = (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`);
  const ready = await ask('/readyz');
  expect([ready.status, await ready.json()]).toEqual([503, { ok: false, notReady: ['clickhouse'] }]);
  const alive = await ask('/livez');
  expect([alive.status, await alive.json()]).toEqual([200, { ok: true }]);
  await server.close(0);
});

test('a client that goes away takes its question back from the warehouse', async () => {
  const site = await api.siteWith();
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const warehouse = createWarehouse(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  const server = await listen(createQueryListener({ ...api.deps, warehouse }), { port: 0, host: '127.0.0.1' });

  const gone = new AbortController();
  const asked = once(silent, 'request') as Promise<[IncomingMessage]>;
  const answer = fetch(`http://127.0.0.1:${server.port}/api/websites/${site.id}/stats`, {
    headers: { authorization: `Bearer ${api.token}` },
    signal: gone.signal,
  });
  const [question] = await asked;
  const takenBack = once(question.socket, 'close');
  gone.abort();
  await expect(answer).rejects.toThrow('aborted');
  await takenBack;

  await server.close(1_000);
  await warehouse.close();
  silent.close();
});

test('on the wire: HEAD, HTTP/1.0 without Host, a Host that is none, a foreign Host', async () => {
  const server = await listen(createQueryListener(api.deps), { port: 0, host: '127.0.0.1' });
  const ask = async (head: string) => {
    const socket = connect(server.port, '127.0.0.1');
    socket.end(`${head}\r\n\r\n`);
    let text = '';
    for await (const chunk of socket) text += chunk;
    return text;
  };
  expect(await ask('GET /api/heartbeat HTTP/1.0')).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"ok":true\}$/);
  expect(await ask('HEAD /api/heartbeat HTTP/1.1\r\nHost: x\r\nConnection: close')).toMatch(
    /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n$/,
  );
  expect(await ask('GET /api/heartbeat HTTP/1.1\r\nHost: a b\r\nConnection: close')).toMatch(
    / 400 [\s\S]*"bad-request"/,
  );
  expect(await ask('GET /api/heartbeat HTTP/1.1\r\nHost: evil.example\r\nConnection: close')).not.toContain('evil');
  await server.close(1_000);
});
