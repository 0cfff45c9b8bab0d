import { randomUUID } from 'node:crypto';
import { toOpenApiDocument } from '@meridian/contract/operations/openapi-document';
import type { Call } from '../query-fixtures.ts';
import { createStatisticsApi } from '../statistics-fixtures.ts';
import { createDocumentCheck } from './openapi-fixtures.ts';

/** Of a self-hosted instance. */
export const check = createDocumentCheck(toOpenApiDocument({ mode: 'self-hosted', region: 'us' }));

/** Served by the collector; tests/e2e/client-operations.test.ts asks these. */
export const collection = ['send', 'batch'];

/** What the query API serves. */
export const operations = check.operations.filter(({ id }) => !collection.includes(id));

/** A request to an operation; parameters of the path and of the query apart. */
export type DocumentedRequest = {
  token?: string;
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
};

const june = { startDate: '2026-06-01', endDate: '2026-06-30' };
const segment = { type: 'segment', name: 'Blog', parameters: { filters: [{ name: 'path', value: '/a' }] } };

/** For tests: the query API with something of everything in it, and a request for each documented operation. */
export async function createDocumentedApi() {
  const api = await createStatisticsApi();
  const admin = await api.newAccount('admin');
  const ownerId: string = (await api.ok('GET', '/me', { token: api.token })).user.id;
  const visits = { visit: 'v', session: 's', country: 'DE', region: 'DE-BE' };
  const { id: websiteId } = await api.siteWith([
    { t: '10:00', urlPath: '/a', ...visits },
    { t: '10:01', eventType: 2, eventName: 'signup', ...visits },
  ]);

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
  const requests: Record<string, () => DocumentedRequest | Promise<DocumentedRequest>> = {
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
    updateTeam: async () => ({
      params: { teamId: (await newTeam()).teamId },
      body: { name: 'Others', accessCode: '' },
    }),
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
    getWebsitePageviews: () => ({
      params: { websiteId },
      query: { ...june, compare: 'yoy', timezone: 'Europe/Berlin' },
    }),
    getWebsiteEvents: () => ({ params: { websiteId }, query: { ...june, pageSize: '1' } }),
    getWebsiteActive: () => ({ params: { websiteId } }),
    getWebsiteMetrics: () => ({ params: { websiteId }, query: { ...june, type: 'region' } }),
    getWebsiteExpandedMetrics: () => ({ params: { websiteId }, query: { ...june, type: 'path' } }),
  };

  /** A request that is answered with 200. */
  async function requestOf(id: string): Promise<DocumentedRequest> {
    const request = requests[id];
    if (!request) throw new Error(`${id} has no request here`);
    return { token: api.token, ...(await request()) };
  }

  /** Sends the request to the operation, with what `change` has instead. */
  function send(id: string, { params = {}, query = {}, token, body }: DocumentedRequest, change: Partial<Call> = {}) {
    const { method, path } = check.find(id);
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const search = new URLSearchParams(query);
    const call = { ...(token !== undefined && { token }), ...(body !== undefined && { body }), ...change };
    return api.call(method, search.size > 0 ? `${filled}?${search}` : filled, call);
  }

  return { ...api, adminId: admin.id, ownerId, websiteId, tokenOfShare, requestOf, send };
}
