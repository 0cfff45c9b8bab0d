import { randomUUID } from 'node:crypto';
import { toOpenApiDocument } from '@meridian/contract/operations/openapi-document';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueryApp } from '../create-query-app.ts';
import { createTestApi } from '../query-fixtures.ts';
import { createDocumentCheck } from './openapi-fixtures.ts';
import { collection, operations } from './openapi-requests-fixtures.ts';

let api: Awaited<ReturnType<typeof createTestApi>>;

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
});
afterAll(() => api.close());

const appIn = (mode: 'self-hosted' | 'cloud') =>
  createQueryApp({ ...api.deps, config: { ...api.deps.config, mode, region: 'us' } });

test('every route of the API is documented, and nothing else is', () => {
  const pages = /^\/(api\/)?(openapi\.json|docs(\/.*)?)$/;
  const routes = appIn('self-hosted')
    .routes.filter(({ method, path }) => method !== 'ALL' && !pages.test(path))
    .map(({ method, path }) => `${method} ${path.replace(/^\/api/, '').replace(/:(\w+)/g, '{$1}')}`);
  expect([...new Set(routes)].sort()).toEqual(operations.map(({ method, path }) => `${method} ${path}`).sort());
});

test('the document of a cloud names only what a cloud has', async () => {
  const { operations: offered } = createDocumentCheck(toOpenApiDocument({ mode: 'cloud', region: 'us' }));
  expect(offered.length).toBeGreaterThan(20);
  for (const { id, method, path } of offered.filter((operation) => !collection.includes(operation.id))) {
    const answer = await appIn('cloud').request(`/v1${path.replace(/\{\w+\}/g, randomUUID())}`, { method });
    const { error } = (await answer.json()) as { error?: { message: string } };
    // Of a route that does not exist it would be 'Not found'.
    if (answer.status !== 200) expect(['Unauthorized', 'Share not found'], id).toContain(error?.message);
  }
});

test.each([
  ['self-hosted', ['', '/api', '/v1', '/v1/us']],
  ['cloud', ['', '/v1', '/v1/us']],
] as const)('%s: anybody gets the document and its page without prefix and under each', async (mode, prefixes) => {
  const app = appIn(mode);
  for (const prefix of prefixes) {
    const answer = await app.request(`${prefix}/openapi.json`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(toOpenApiDocument({ mode, region: 'us' }))));
    for (const path of ['/docs', '/docs/', '/docs/page.js'])
      expect((await app.request(prefix + path)).status, prefix + path).toBe(200);
  }
  for (const path of ['/v1/eu/openapi.json', '/docs/package.json', '/docs/..%2fpackage.json'])
    expect((await app.request(path)).status, path).not.toBe(200);
});

test('the document is kept by who read it until it is another one', async () => {
  const first = await appIn('self-hosted').request('/openapi.json');
  const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
  const again = await appIn('self-hosted').request('/openapi.json', { headers });
  expect([again.status, await again.text(), again.headers.get('cache-control')]).toEqual([304, '', 'no-cache']);
  expect((await appIn('cloud').request('/openapi.json', { headers })).status).toBe(200);
});
