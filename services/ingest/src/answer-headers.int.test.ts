import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, chrome, startTestIngest } from './ingest-fixtures.ts';

let ingest: Awaited<ReturnType<typeof startTestIngest>>;
let website: string;

beforeAll(async () => {
  ingest = await startTestIngest();
  website = await ingest.newWebsite();
});
afterAll(() => ingest.stop());

test('no answer of collection may be taken for something else, sets a cookie or names what is behind it; each has its id', async () => {
  const event = (id: string) => JSON.stringify({ type: 'event', payload: { website: id, url: '/a' } });
  const json = { 'user-agent': chrome, 'content-type': 'application/json' };
  const asked: [number, string, string, string | undefined, Record<string, string>][] = [
    [200, 'POST', '/api/send', event(website), json],
    [200, 'POST', '/api/send', event(website), { 'content-type': 'application/json' }],
    [200, 'POST', '/api/batch', `[${event(website)},null]`, json],
    [400, 'POST', '/api/send', event(randomUUID()), json],
    [400, 'POST', '/api/send', '{', json],
    [404, 'POST', '/api/nothing', '{}', json],
    [405, 'GET', '/api/send', undefined, json],
    [413, 'POST', '/api/send', 'x'.repeat(100_000), json],
    [415, 'POST', '/api/send', 'a=b', { ...json, 'content-type': 'application/x-www-form-urlencoded' }],
    [204, 'OPTIONS', '/api/send', undefined, { ...json, origin: 'https://a.example' }],
    [200, 'GET', '/livez', undefined, {}],
    [200, 'GET', '/readyz', undefined, {}],
  ];
  for (const [status, method, path, body, headers] of asked) {
    const reply = await call(ingest.port, method, path, body, { ...headers, 'x-request-id': 'my-id' });
    const about = `${method} ${path} ${status}`;
    expect(reply.status, about).toBe(status);
    expect(reply.headers['x-content-type-options'], about).toBe('nosniff');
    for (const name of ['set-cookie', 'server', 'x-powered-by']) expect(reply.headers[name], about).toBeUndefined();
    if (path.startsWith('/api/')) expect(reply.headers['x-request-id'], about).toBe('my-id');
    if (status !== 204) expect(reply.headers['content-type'], about).toMatch(/^application\/json/);
  }
});
