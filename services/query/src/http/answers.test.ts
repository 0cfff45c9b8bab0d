import { RegistryError } from '@meridian/registry/registry-error';
import { ApiError } from '@meridian/runtime/http/api-error';
import { createLogger } from '@meridian/runtime/logger';
import { createMetricsText } from '@meridian/runtime/metrics';
import { WarehouseError } from '@meridian/warehouse/warehouse-error';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createQueryCounts } from '../query-counts.ts';
import type { QueryEnv } from '../query-env.ts';
import { answerError } from './answer-error.ts';
import { answerHeaders } from './answer-headers.ts';
import { readJson } from './read-json.ts';
import { readQuery, searchParams } from './read-query.ts';
import { requestId } from './request-id.ts';
import { requestLog } from './request-log.ts';
import { unknownRoute } from './unknown-route.ts';

const Body = z.object({ name: z.string(), tags: z.object({ a: z.number() }).optional() });
const Query = z.object({ page: z.string().regex(/^\d+$/, 'must be a whole number').default('1') });
let thrown: unknown = new Error('nobody foresaw this');

type Shell = Parameters<typeof requestLog>[0];
const silent = createLogger({ service: 'query', level: 'silent' });

/** The shell of the API around routes that only throw, read and answer. */
function createShell({ counts = createQueryCounts(), logger = silent, logSampleRate = 0 }: Partial<Shell> = {}) {
  const app = new Hono<QueryEnv>();
  app.use(requestLog({ logger, counts, logSampleRate }), requestId(), answerHeaders('us'));
  app.onError(answerError());
  app.notFound(unknownRoute(app));
  return app
    .get('/throws', () => {
      throw thrown;
    })
    .get('/thing/:id', (c) => c.json(readQuery(searchParams(c), Query)))
    .post('/thing/:id', async (c) => c.json(await readJson(c, Body)));
}
const app = createShell();
const post = (body: string, headers: Record<string, string> = {}) =>
  app.request('/thing/1', { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
const failing = (error: unknown, headers: Record<string, string> = {}) => {
  thrown = error;
  return app.request('/throws', { headers });
};

test('an unknown route is 404, a wrong method 405 with Allow', async () => {
  expect((await app.request('/nothing')).status).toBe(404);
  const answer = await app.request('/thing/1', { method: 'PUT' });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST, HEAD']);
  expect(await answer.json()).toEqual({
    error: { message: 'Method not allowed', code: 'method-not-allowed', status: 405 },
  });
});

test('HEAD answers like GET, without a body', async () => {
  const answer = await app.request('/thing/1', { method: 'HEAD' });
  expect([answer.status, await answer.text()]).toEqual([200, '']);
});

test('every answer, also an error, carries request id, region, no-store, nosniff and CORS', async () => {
  for (const path of ['/thing/1', '/nothing', '/throws']) {
    const { headers } = await app.request(path, { headers: { 'x-request-id': 'my-id.42' } });
    const expected = {
      'x-request-id': 'my-id.42',
      'x-region': 'us',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.stringContaining('ratelimit-remaining'),
    };
    for (const [name, value] of Object.entries(expected)) expect(headers.get(name), `${path} ${name}`).toEqual(value);
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('x-powered-by')).toBeNull();
  }
});

test('a request id that is missing, too long or not visible ASCII is replaced', async () => {
  const ids = ['', 'a b', 'caf\u00e9', 'x'.repeat(129)];
  const answers = await Promise.all(ids.map((id) => app.request('/thing/1', { headers: { 'x-request-id': id } })));
  const given = answers.map((answer) => answer.headers.get('x-request-id') ?? '');
  for (const id of given) expect(id).toMatch(/^[\x21-\x7e]{1,128}$/);
  expect(given.filter((id) => ids.includes(id))).toEqual([]);
  expect(new Set(given).size).toBe(ids.length);
});

test('a preflight is answered without a route', async () => {
  const answer = await app.request('/thing/1', { method: 'OPTIONS', headers: { origin: 'https://a.example' } });
  expect(answer.status).toBe(204);
  expect(answer.headers.get('access-control-allow-headers')).toContain('x-umami-api-key');
  expect(answer.headers.get('access-control-max-age')).toBe('86400');
});

test('what nobody foresaw is 500 and says nothing of the inside', async () => {
  const answer = await failing(new Error('SELECT secret FROM postgres at /src/x.ts:1'));
  expect([answer.status, await answer.json()]).toEqual([
    500,
    { error: { message: 'Internal error', code: 'server-error', status: 500 } },
  ]);
});

test.each([
  new WarehouseError('unavailable', 'ClickHouse at 10.0.0.1'),
  new WarehouseError('timeout', 'SELECT 1'),
  new WarehouseError('limit', 'SELECT 1'),
  new WarehouseError('aborted', 'SELECT 1'),
  new RegistryError('unavailable', 'postgres'),
])('an outage is 503 with Retry-After: %o', async (error) => {
  const answer = await failing(error);
  expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([503, true]);
  expect(await answer.text()).not.toMatch(/select|clickhouse|postgres/i);
});

test('401 names the scheme, and errors bring headers of their own', async () => {
  expect((await failing(new ApiError('unauthorized', 'x'))).headers.get('www-authenticate')).toBe('Bearer');
  const limited = await failing(new ApiError('rate-limited', 'x', { headers: { 'retry-after': '7' } }));
  expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '7']);
});

test('RFC 9457 is answered to who asks for it', async () => {
  const answer = await failing(new ApiError('not-found', 'Website not found'), { accept: 'application/problem+json' });
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(await answer.json()).toMatchObject({ title: 'not-found', status: 404, detail: 'Website not found' });
});

test('a body is JSON whatever its content type says, unless that is a form', async () => {
  const body = JSON.stringify({ name: 'x' });
  for (const type of ['application/json', 'text/plain', 'APPLICATION/JSON; charset=utf-8', 'application/vnd.api+json'])
    expect((await post(body, { 'content-type': type })).status, type).toBe(200);
  for (const type of ['application/x-www-form-urlencoded', 'Multipart/Form-Data; boundary=x'])
    expect((await post(body, { 'content-type': type })).status, type).toBe(415);
});

test.each(['', '{', '{"name":}', "{'name':'x'}", 'x', '[]', '5', 'null', '"x"', 'true'])(
  'a body that is no JSON object is 400: %j',
  async (body) => {
    const answer = await post(body);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('JSON')]);
  },
);

test('a body that is nested too deep to read is 400', async () => {
  expect((await post(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)).status).toBe(400);
});

test('a body above 1 MB is 413, and one without end is not read to that', async () => {
  let chunksTaken = 0;
  const endless = new ReadableStream({
    pull(controller) {
      chunksTaken++;
      controller.enqueue(new TextEncoder().encode(' '.repeat(100_000)));
    },
  });
  const request = new Request('http://host/thing/1', { method: 'POST', body: endless, ...{ duplex: 'half' } });
  const answer = await app.request(request);
  expect([answer.status, answer.headers.get('connection')]).toEqual([413, 'close']);
  expect(chunksTaken).toBeLessThan(200);
  expect((await post(JSON.stringify({ name: 'x'.repeat(1_000_000) }))).status).toBe(413);
  expect((await post(JSON.stringify({ name: 'x'.repeat(900_000) }))).status).toBe(200);
});

test('a faulty field is named, unknown ones are ignored, NUL is removed, from keys too', async () => {
  const faulty = await (await post('{"tags":{"a":"x"}}')).json();
  expect(Object.keys(faulty.error.properties)).toEqual(['name', 'tags.a']);
  expect(faulty.error.message).toContain('name: ');
  const fine = await post('{"na\\u0000me":"a\\u0000b","id":"7","__proto__":{"polluted":1}}');
  expect(await fine.json()).toEqual({ name: 'ab' });
});

test('of a repeated parameter the last value counts, an empty one is none, a faulty one is named', async () => {
  const page = async (query: string) => (await (await app.request(`/thing/1?${query}`)).json()).page;
  expect(await page('page=1&page=2')).toBe('2');
  expect(await page('page=3&page=')).toBe('3');
  expect(await page('page=&page[]=9&__proto__[x]=1')).toBe('1');
  expect(await page('page=%004')).toBe('4');
  const faulty = await app.request('/thing/1?page=x');
  expect([faulty.status, await faulty.json()]).toEqual([
    400,
    {
      error: {
        message: 'page: must be a whole number',
        code: 'bad-request',
        status: 400,
        properties: { page: { errors: ['must be a whole number'] } },
      },
    },
  ]);
});

test('requests are counted by the pattern of their route, never by their path', async () => {
  const counts = createQueryCounts();
  const shell = createShell({ counts });
  thrown = new ApiError('rate-limited', 'Too many');
  for (const path of ['/thing/1', '/thing/2', '/thing/3?page=x', '/throws', '/nobody@example.com', '/thing/1/more'])
    await shell.request(path);
  await shell.request('/thing/4', { method: 'POST', body: '{' });
  await shell.request('/thing/5', { method: 'PUT' });
  const lines = (await createMetricsText(counts.metrics()).read()).split('\n');
  expect(lines.filter((line) => line.startsWith('meridian_query_request_duration_seconds_count'))).toEqual(
    [
      ['GET', '/thing/:id', 200, 2],
      ['GET', '/thing/:id', 400, 1],
      ['GET', '/throws', 429, 1],
      ['unmatched', 'unmatched', 404, 2],
      ['POST', '/thing/:id', 400, 1],
      ['unmatched', 'unmatched', 405, 1],
    ].map(
      ([method, route, status, count]) =>
        `meridian_query_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"} ${count}`,
    ),
  );
});

test.each([
  [1, 'info'],
  [0, 'debug'],
])(
  'of requests the share %d is told at info, each by one line; the others at debug, and what fails at error',
  async (logSampleRate, level) => {
    const lines: object[] = [];
    const lineAt = (name: string) => (fields: object) => void lines.push({ level: name, ...fields });
    const logger = { error: lineAt('error'), info: lineAt('info'), debug: lineAt('debug'), isLevelEnabled: () => true };
    const shell = createShell({ logger, logSampleRate });
    await shell.request('/thing/1?page=7', { headers: { authorization: 'Bearer a-key', 'x-request-id': 'r1' } });
    await shell.request('/nobody@example.com');
    thrown = new WarehouseError('unavailable', 'ClickHouse is away');
    await shell.request('/throws');
    expect(lines).toMatchObject([
      { level, requestId: 'r1', method: 'GET', route: '/thing/:id', path: '/thing/1', status: 200 },
      { level, route: 'unmatched', path: undefined, status: 404 },
      { level: 'error', route: '/throws', status: 503, err: thrown },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/a-key|page|nobody/);
  },
);
