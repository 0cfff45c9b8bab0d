import { randomUUID } from 'node:crypto';
import { toOpenApiDocument } from '@meridian/contract/operations/openapi-document';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueryApp } from '../create-query-app.ts';
import type { Call } from '../query-fixtures.ts';
import { createStatisticsApi } from '../statistics-fixtures.ts';
import { createDocumentCheck } from './openapi-fixtures.ts';

const instance = { mode: 'self-hosted', region: 'us' } as const;
const check = createDocumentCheck(toOpenApiDocument(instance));
/** Served by the collector; tests/e2e/client-operations.test.ts asks these. */
const collection = ['send', 'batch'];
const operations = check.operations.filter(({ id }) => !collection.includes(id));
const ids = operations.map(({ id }) => id);

type Api = Awaited<ReturnType<typeof createStatisticsApi>>;
type Account = Awaited<ReturnType<Api['newAccount']>>;
type Request = { token?: string; params?: Record<string, string>; query?: Record<string, string>; body?: unknown };

let api: Api;
let admin: Account;
/** Of `api.token`, who owns the website with events. */
let ownerId: string;
let websiteId: string;
const june = { startDate: '2026-06-01', endDate: '2026-06-30' };
const segment = { type: 'segment', name: 'Blog', parameters: { filters: [{ name: 'path', value: '/a' }] } };

beforeAll(async () => {
  api = await createStatisticsApi();
  admin = await api.newAccount('admin');
  ownerId = (await api.ok('GET', '/me', { token: api.token })).user.id;
  const visits = { visit: 'v', session: 's', country: 'DE', region: 'DE-BE' };
  const site = await api.siteWith([
    { t: '10:00', urlPath: '/a', ...visits },
    { t: '10:01', eventType: 2, eventName: 'signup', ...visits },
  ]);
  websiteId = site.id;
});
afterAll(() => api.close());

const newWebsite = async (token = admin.token): Promise<string> =>
  (await api.ok('POST', '/websites', { token, body: { name: 'Shop', domain: 'shop.example' } })).id;
const newSegment = async () => {
  const { id } = await api.ok('POST', `/websites/${websiteId}/segments`, { token: api.token, body: segment });
  return { websiteId, segmentId: id as string };
};
const newTeam = async (): Promise<{ teamId: string; accessCode: string }> => {
  const [{ id, accessCode }] = await api.ok('POST', '/teams', { token: api.token, body: { name: 'Crew' } });
  return { teamId: id, accessCode };
};
/** A team of who owns the website with events, and somebody else in it. */
const newMember = async () => {
  const [{ teamId }, { id: userId }] = await Promise.all([newTeam(), api.newAccount()]);
  const body = { userId, role: 'team-member' };
  await api.ok('POST', `/teams/${teamId}/users`, { token: api.token, body });
  return { teamId, userId };
};
const newShare = async (parameters: object = {}) =>
  (await api.ok('POST', `/websites/${websiteId}/shares`, {
    token: api.token,
    body: { name: 'Public', parameters },
  })) as {
    id: string;
    slug: string;
  };
const tokenOfShare = async (parameters?: object): Promise<string> =>
  (await api.ok('GET', `/share/${(await newShare(parameters)).slug}`)).token;

/** A request for each operation that is answered with 200, by default of who owns the website with events. */
const requests: Record<string, () => Request | Promise<Request>> = {
  getHeartbeat: () => ({}),
  login: () => ({ body: { username: admin.username, password: admin.password } }),
  verify: () => ({}),
  verifyByGet: () => ({}),
  logout: async () => ({ token: (await api.newAccount()).token }),
  getMe: () => ({}),
  getMyWebsites: () => ({}),
  updateMyPassword: async () => {
    const { token, password } = await api.newAccount();
    return { token, body: { currentPassword: password, newPassword: `${password}-new` } };
  },
  getMyApiKeys: async () => {
    await api.ok('POST', '/me/api-keys', { token: admin.token, body: { name: 'ci' } });
    return { token: admin.token };
  },
  createMyApiKey: () => ({ body: { name: 'ci' } }),
  deleteMyApiKey: async () => {
    const { id } = await api.ok('POST', '/me/api-keys', { token: api.token, body: { name: 'ci' } });
    return { params: { keyId: id } };
  },
  createUser: () => ({
    token: admin.token,
    body: { username: randomUUID(), password: 'a long password', role: 'user' },
  }),
  getUser: () => ({ token: admin.token, params: { userId: admin.id } }),
  updateUser: async () => ({
    token: admin.token,
    params: { userId: (await api.newAccount()).id },
    body: { role: 'view-only' },
  }),
  deleteUser: async () => ({ token: admin.token, params: { userId: (await api.newAccount()).id } }),
  getAdminUsers: () => ({ token: admin.token }),
  getUserWebsites: async () => {
    await newWebsite();
    return { token: admin.token, params: { userId: admin.id } };
  },
  getUserTeams: async () => ({ token: admin.token, params: { userId: (await newMember()).userId } }),
  getAdminTeams: async () => {
    await newTeam();
    return { token: admin.token };
  },
  getAdminWebsites: () => ({ token: admin.token, query: { orderBy: 'createdAt' } }),
  getAdminAudit: () => ({ token: admin.token, query: { startAt: '0' } }),
  listWebsites: () => ({ query: { pageSize: '5' } }),
  createWebsite: () => ({ body: { name: 'Shop', domain: 'https://shop.example/', shareId: null } }),
  getWebsite: () => ({ params: { websiteId } }),
  updateWebsite: () => ({ params: { websiteId }, body: { name: 'Shop', replayConfig: { sampleRate: 0.5 } } }),
  deleteWebsite: async () => ({ token: admin.token, params: { websiteId: await newWebsite() } }),
  resetWebsite: async () => ({ token: admin.token, params: { websiteId: await newWebsite() } }),
  transferWebsite: async () => ({
    params: { websiteId: await newWebsite(api.token) },
    body: { teamId: (await newTeam()).teamId },
  }),
  getTeams: async () => {
    await newTeam();
    return { query: { search: 'crew' } };
  },
  getMyTeams: async () => {
    await newTeam();
    return {};
  },
  createTeam: () => ({ body: { name: 'Crew' } }),
  joinTeam: async () => ({
    token: (await api.newAccount()).token,
    body: { accessCode: (await newTeam()).accessCode },
  }),
  getTeam: async () => ({ params: { teamId: (await newTeam()).teamId } }),
  updateTeam: async () => ({ params: { teamId: (await newTeam()).teamId }, body: { name: 'Others', accessCode: '' } }),
  deleteTeam: async () => ({ params: { teamId: (await newTeam()).teamId } }),
  getTeamWebsites: async () => {
    const { teamId } = await newTeam();
    await api.ok('POST', '/websites', { token: api.token, body: { name: 'Shop', domain: 'shop.example', teamId } });
    return { params: { teamId } };
  },
  getTeamUsers: async () => ({ params: { teamId: (await newTeam()).teamId } }),
  createTeamUser: async () => ({
    params: { teamId: (await newTeam()).teamId },
    body: { userId: (await api.newAccount()).id, role: 'team-view-only' },
  }),
  getTeamUser: async () => ({ params: await newMember() }),
  updateTeamUser: async () => ({ params: await newMember(), body: { role: 'team-manager' } }),
  deleteTeamUser: async () => ({ params: await newMember() }),
  getWebsiteSegments: async () => {
    await newSegment();
    return { params: { websiteId }, query: { type: 'segment' } };
  },
  createWebsiteSegment: () => ({ params: { websiteId }, body: segment }),
  getWebsiteSegment: async () => ({ params: await newSegment() }),
  updateWebsiteSegment: async () => ({
    params: await newSegment(),
    body: {
      type: 'cohort',
      name: 'Buyers',
      parameters: { dateRange: '30day', action: { type: 'path', value: '/buy' } },
    },
  }),
  deleteWebsiteSegment: async () => ({ params: await newSegment() }),
  getShareBySlug: async () => ({ params: { slug: (await newShare()).slug } }),
  getWebsiteShares: async () => {
    await newShare();
    return { params: { websiteId } };
  },
  createWebsiteShare: () => ({ params: { websiteId }, body: { name: 'Public' } }),
  createShare: () => ({ body: { entityId: websiteId, shareType: 1, name: 'Public', parameters: { events: true } } }),
  getShare: async () => ({ params: { shareId: (await newShare()).id } }),
  updateShare: async () => ({ params: { shareId: (await newShare()).id }, body: { slug: randomUUID() } }),
  deleteShare: async () => ({ params: { shareId: (await newShare()).id } }),
  getWebsiteStats: () => ({ params: { websiteId }, query: { ...june, compare: 'prev', path: 'c.a' } }),
  getWebsitePageviews: () => ({ params: { websiteId }, query: { ...june, compare: 'yoy', timezone: 'Europe/Berlin' } }),
  getWebsiteEvents: () => ({ params: { websiteId }, query: { ...june, pageSize: '1' } }),
  getWebsiteActive: () => ({ params: { websiteId } }),
  getWebsiteMetrics: () => ({ params: { websiteId }, query: { ...june, type: 'region' } }),
  getWebsiteExpandedMetrics: () => ({ params: { websiteId }, query: { ...june, type: 'path' } }),
};

async function requestOf(id: string): Promise<Request> {
  return { token: api.token, ...(await requests[id]?.()) };
}

/** Sends the request to the operation, with what `change` has instead. */
function send(id: string, { params = {}, query = {}, token, body }: Request, change: Call & { query?: object } = {}) {
  const { method, path } = check.find(id);
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const { query: otherQuery, ...call } = change;
  const search = new URLSearchParams({ ...query, ...otherQuery } as Record<string, string>);
  return api.call(method, search.size > 0 ? `${filled}?${search}` : filled, {
    token,
    ...(body !== undefined && { body }),
    ...call,
  });
}

test('every route of the API is documented, and nothing else is', () => {
  const pages = /^\/(api\/)?(openapi\.json|docs(\/.*)?)$/;
  const routes = createQueryApp(api.deps)
    .routes.filter(({ method, path }) => method !== 'ALL' && !pages.test(path))
    .map(({ method, path }) => `${method} ${path.replace(/^\/api/, '').replace(/:(\w+)/g, '{$1}')}`);
  expect([...new Set(routes)].sort()).toEqual(operations.map(({ method, path }) => `${method} ${path}`).sort());
});

test.each(ids)('%s takes and answers what the document says', async (id) => {
  expect(Object.keys(requests)).toContain(id);
  const request = await requestOf(id);
  if (request.body !== undefined) expect(check.bodyFaults(id, request.body)).toEqual([]);
  const { status, json, text } = await send(id, request);
  expect(status, text).toBe(200);
  expect(check.answerFaults(id, 200, json)).toEqual([]);
  // What is empty proves nothing.
  const rows = Array.isArray(json) ? json : json.data;
  if (rows) expect(rows).not.toEqual([]);
});

type Provoke = (id: string, request: Request) => ReturnType<typeof send> | Promise<ReturnType<typeof send>>;

/** The last id of a request, replaced by one that nobody has. */
function withUnknownId({ params, body, ...request }: Request): Request {
  const [last] = Object.keys(params ?? {}).slice(-1);
  if (last !== undefined) return { ...request, body, params: { ...params, [last]: randomUUID() } };
  return { ...request, body: { ...(body as object), entityId: randomUUID(), accessCode: randomUUID() } };
}

/** How to be refused with each status. 429, 500 and 503, which any operation may answer, have tests of their own. */
const provoke: Record<string, Provoke> = {
  400: (id, request) => {
    if (request.body !== undefined) return send(id, request, { raw: '[]' });
    if (id === 'deleteUser') return send(id, { ...request, params: { userId: admin.id } });
    // The last owner of a team.
    if (id === 'deleteTeamUser') return send(id, { ...request, params: { ...request.params, userId: ownerId } });
    return send(id, request, { query: { page: '0', timezone: 'nowhere' } });
  },
  401: (id, request) => {
    if (id === 'login') return send(id, { body: { username: randomUUID(), password: 'no password' } });
    return send(id, { ...request, token: undefined as never });
  },
  403: async (id, request) => {
    const shareToken = await tokenOfShare({ events: false });
    return send(id, { ...request, token: undefined as never }, { headers: { 'x-umami-share-token': shareToken } });
  },
  404: (id, request) => send(id, withUnknownId(request)),
  413: (id, request) => send(id, request, { raw: `"${'x'.repeat(1_000_000)}"` }),
  415: (id, request) => send(id, request, { headers: { 'content-type': 'multipart/form-data; boundary=x' } }),
};
const anyOperation = ['429', '500', '503'];

test.each(ids)('%s refuses as the document says', async (id) => {
  const request = await requestOf(id);
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
    ['getWebsiteStats', `/websites/${websiteId}/stats`, 503],
    ['listWebsites', '/websites', 500],
  ] as const) {
    const answer = await app.request(`/api${path}`, { headers });
    expect([answer.status, check.answerFaults(id, status, await answer.json())]).toEqual([status, []]);
  }
  await warehouse.close();
});

test('a share link is answered as the document says, too', async () => {
  const headers = { 'x-umami-share-token': await tokenOfShare() };
  for (const [id, path] of [
    ['getMe', '/me'],
    ['getWebsite', `/websites/${websiteId}`],
    ['getWebsiteStats', `/websites/${websiteId}/stats`],
  ] as const)
    expect(check.answerFaults(id, 200, await api.ok('GET', path, { headers }))).toEqual([]);
});

test('an answer with a key too many, or one too few, is not as documented', async () => {
  const me = await api.ok('GET', '/me', { token: api.token });
  const { user, ...withoutUser } = me;
  for (const other of [{ ...me, secret: 1 }, { ...me, user: { ...user, hash: '' } }, withoutUser, []])
    expect(check.answerFaults('getMe', 200, other)).not.toEqual([]);
});

test('/openapi.json is served without prefix and under each of them to anybody, and kept until it changes', async () => {
  for (const mode of ['self-hosted', 'cloud'] as const) {
    const app = createQueryApp({ ...api.deps, config: { ...api.deps.config, mode } });
    const prefixes = mode === 'cloud' ? ['', '/v1', '/v1/us'] : ['', '/api', '/v1', '/v1/us'];
    for (const prefix of prefixes) {
      const answer = await app.request(`${prefix}/openapi.json`);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
      expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(toOpenApiDocument({ mode, region: 'us' }))));
      const etag = answer.headers.get('etag') ?? '';
      const again = await app.request(`${prefix}/openapi.json`, { headers: { 'if-none-match': etag } });
      expect([again.status, await again.text()]).toEqual([304, '']);
    }
    expect((await app.request('/v1/eu/openapi.json')).status).not.toBe(200);
  }
});

test('the document of a cloud names only what a cloud has', async () => {
  const app = createQueryApp({ ...api.deps, config: { ...api.deps.config, mode: 'cloud' } });
  const { operations: offered } = createDocumentCheck(toOpenApiDocument({ mode: 'cloud', region: 'us' }));
  expect(offered.length).toBeGreaterThan(20);
  for (const { id, method, path } of offered.filter((operation) => !collection.includes(operation.id))) {
    const answer = await app.request(`/v1${path.replace(/\{\w+\}/g, randomUUID())}`, { method });
    expect([200, 401, 404], `${id} ${answer.status}`).toContain(answer.status);
    if (answer.status === 404) expect(id).toBe('getShareBySlug');
  }
});
