import { randomUUID } from 'node:crypto';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueryApp } from '../create-query-app.ts';
import { check, createDocumentedApi, type DocumentedRequest, operations } from './openapi-requests-fixtures.ts';

const ids = operations.map(({ id }) => id);
let api: Awaited<ReturnType<typeof createDocumentedApi>>;

beforeAll(async () => {
  api = await createDocumentedApi();
});
afterAll(() => api.close());

test.each(ids)('%s takes and answers what the document says', async (id) => {
  const request = await api.requestOf(id);
  if (request.body !== undefined) expect(check.bodyFaults(id, request.body)).toEqual([]);
  const { status, json, text } = await api.send(id, request);
  expect(status, text).toBe(200);
  expect(check.answerFaults(id, 200, json)).toEqual([]);
  // What is empty proves nothing.
  const rows = Array.isArray(json) ? json : json.data;
  if (rows) expect(rows).not.toEqual([]);
});

/** The last id of a request, replaced by one that nobody has. */
function withUnknownId(request: DocumentedRequest): DocumentedRequest {
  const { params, body } = request;
  const [last] = Object.keys(params ?? {}).slice(-1);
  if (last !== undefined) return { ...request, params: { ...params, [last]: randomUUID() } };
  return { ...request, body: { ...(body as object), entityId: randomUUID(), accessCode: randomUUID() } };
}

function withoutToken({ token, ...request }: DocumentedRequest): DocumentedRequest {
  return request;
}

type Provoke = (id: string, request: DocumentedRequest) => Promise<Awaited<ReturnType<typeof api.send>>>;

/** How to be refused with each status. 429, 500 and 503, which any operation may answer, have a test of their own. */
const provoke: Record<string, Provoke> = {
  400: async (id, request) => {
    if (request.body !== undefined) return api.send(id, request, { raw: '[]' });
    // Oneself, and the last owner of a team.
    if (id === 'deleteUser') return api.send(id, { ...request, params: { userId: api.adminId } });
    if (id === 'deleteTeamUser')
      return api.send(id, { ...request, params: { ...request.params, userId: api.ownerId } });
    return api.send(id, { ...request, query: { ...request.query, page: '0', timezone: 'nowhere' } });
  },
  401: async (id, request) => {
    if (id === 'login') return api.send(id, { body: { username: randomUUID(), password: 'no password' } });
    return api.send(id, withoutToken(request));
  },
  403: async (id, request) => {
    const shareToken = await api.tokenOfShare({ events: false });
    return api.send(id, withoutToken(request), { headers: { 'x-umami-share-token': shareToken } });
  },
  404: async (id, request) => api.send(id, withUnknownId(request)),
  413: async (id, request) => api.send(id, request, { raw: `"${'x'.repeat(1_000_000)}"` }),
  415: async (id, request) => api.send(id, request, { headers: { 'content-type': 'multipart/form-data; boundary=x' } }),
};
const anyOperation = ['429', '500', '503'];

test.each(ids)('%s refuses as the document says', async (id) => {
  const request = await api.requestOf(id);
  for (const status of check.find(id).responses.filter((code) => code !== '200' && !anyOperation.includes(code))) {
    const answer = await provoke[status]?.(id, request);
    expect(answer?.status, `${id} ${answer?.text}`).toBe(Number(status));
    expect(check.answerFaults(id, Number(status), answer?.json)).toEqual([]);
    expect(answer?.json.error.status).toBe(Number(status));
  }
});

test('too many requests of a key, a store that is away and a fault of ours are answered as the document says', async () => {
  const { key } = await api.ok('POST', '/me/api-keys', { token: api.token, body: { name: 'busy' } });
  for (let i = 0; i < 50; i++) await api.ok('GET', '/me', { token: key });
  const limited = await api.call('GET', '/me', { token: key });
  expect([limited.status, check.answerFaults('getMe', 429, limited.json)]).toEqual([429, []]);

  const warehouse = createWarehouse('http://127.0.0.1:1/none');
  const registry = Object.create(api.deps.registry, {
    listWebsites: { value: () => Promise.reject(new Error('bug')) },
  });
  const app = createQueryApp({ ...api.deps, warehouse, registry });
  const headers = { authorization: `Bearer ${api.token}` };
  for (const [id, path, status] of [
    ['getWebsiteStats', `/websites/${api.websiteId}/stats`, 503],
    ['listWebsites', '/websites', 500],
  ] as const) {
    const answer = await app.request(`/api${path}`, { headers });
    expect([answer.status, check.answerFaults(id, status, await answer.json())]).toEqual([status, []]);
  }
  await warehouse.close();
});

test('a refusal by RFC 9457 is as documented, too', async () => {
  const type = 'application/problem+json';
  const { headers, json } = await api.call('GET', '/admin/users?page=x', {
    token: api.token,
    headers: { accept: type },
  });
  expect(headers.get('content-type')).toBe(type);
  expect(check.answerFaults('getAdminUsers', 403, json, type)).toEqual([]);
});

test('a share link is answered as the document says, too', async () => {
  const headers = { 'x-umami-share-token': await api.tokenOfShare() };
  for (const [id, path] of [
    ['getMe', '/me'],
    ['getWebsite', `/websites/${api.websiteId}`],
    ['getWebsiteStats', `/websites/${api.websiteId}/stats`],
  ] as const)
    expect(check.answerFaults(id, 200, await api.ok('GET', path, { headers }))).toEqual([]);
});

test('an answer with a key too many, or one too few, is not as documented', async () => {
  const me = await api.ok('GET', '/me', { token: api.token });
  const { user, ...withoutUser } = me;
  for (const other of [{ ...me, secret: 1 }, { ...me, user: { ...user, hash: '' } }, withoutUser, []])
    expect(check.answerFaults('getMe', 200, other)).not.toEqual([]);
});

/** What breaks the rules of a parameter's schema. */
function badValues({ type, minimum, enum: values }: { type?: string; minimum?: number; enum?: unknown[] }): string[] {
  return [
    ...(values !== undefined || type === 'integer' || type === 'number' ? ['x'] : []),
    ...(minimum !== undefined ? [String(minimum - 1)] : []),
  ];
}

test.each(operations.filter(({ query }) => query.length > 0).map(({ id }) => id))(
  '%s refuses what breaks the documented rule of a parameter, and names it',
  async (id) => {
    const request = await api.requestOf(id);
    for (const { name, required = false, schema } of check.find(id).query) {
      const { [name]: _, ...others } = request.query ?? {};
      const queries = badValues(schema).map((value) => ({ ...others, [name]: value }));
      for (const query of [...queries, ...(required ? [others] : [])]) {
        const { status, json, text } = await api.send(id, { ...request, query });
        expect([status, Object.keys(json.error?.properties ?? {})], `${name} ${text}`).toEqual([400, [name]]);
      }
    }
  },
);

test.each(operations.filter(({ body }) => body?.required?.length).map(({ id }) => id))(
  '%s refuses a body without one of the keys that are documented as required, and names it',
  async (id) => {
    const request = await api.requestOf(id);
    for (const name of check.find(id).body?.required ?? []) {
      const { [name]: _, ...body } = request.body as Record<string, unknown>;
      const { status, json, text } = await api.send(id, { ...request, body });
      expect([status, Object.keys(json.error?.properties ?? {})], `${name} ${text}`).toEqual([400, [name]]);
    }
  },
);
