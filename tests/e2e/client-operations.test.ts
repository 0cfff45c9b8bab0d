import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toOpenApiDocument } from '@meridian/contract/operations/openapi-document';
import { freePort } from '@meridian/embedded/ports';
import { createDocumentCheck } from '@meridian/query/routes/openapi-fixtures';
import { operations, UmamiClient } from '@umami/api-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Api, always, createWebsite, eventually, logIn, request, unique } from '../api-client.ts';
import { type Process, startProcess, startService, untilReady } from '../processes.ts';
import { createStores } from '../stores.ts';

/*
 * Every operation that the official client and we have in common, called by the client as it is published: on a
 * self-hosted instance under /api with a session, on a cloud under /v1 with a key. What comes back is what our document
 * says.
 */

const appSecret = 'a secret of the tests of the client, long enough';
const password = 'a test password';
const agent = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0' };
const checks = {
  'self-hosted': createDocumentCheck(toOpenApiDocument({ mode: 'self-hosted', region: 'us' })),
  cloud: createDocumentCheck(toOpenApiDocument({ mode: 'cloud', region: 'us' })),
};
type Mode = keyof typeof checks;

const inClient = Object.keys(operations);
const common = (mode: Mode) =>
  checks[mode].operations.map(({ id }) => id).filter((id) => inClient.includes(id)) as (keyof typeof operations)[];

const processes: Process[] = [];
const origins = { 'self-hosted': '', cloud: '' };
let admin: Api;
let adminId: string;
let websiteId: string;
const dataDir = await mkdtemp(join(tmpdir(), 'meridian-client-'));
let drop: () => Promise<unknown>;

beforeAll(async () => {
  const stores = await createStores();
  drop = stores.drop;
  const env = { ...stores.env, APP_SECRET: appSecret, ADMIN_PASSWORD: password, FLUSH_MAX_WAIT_MS: '10' };
  const ports = [await freePort(), await freePort()];
  const standalone = ['--import', 'tsx', 'services/standalone/src/main.ts'];
  const whole = startProcess(process.execPath, standalone, { ...env, DATA_DIR: dataDir, PORT: String(ports[0]) });
  processes.push(whole);
  origins['self-hosted'] = `http://127.0.0.1:${ports[0]}`;
  await untilReady(whole, `${origins['self-hosted']}/api/heartbeat`);
  const cloud = startService('query', { ...env, MODE: 'cloud', PORT: String(ports[1]) });
  processes.push(cloud);
  origins.cloud = `http://127.0.0.1:${ports[1]}`;
  await untilReady(cloud, `${origins.cloud}/readyz`);

  admin = await logIn(`${origins['self-hosted']}/api`, 'admin', password);
  adminId = (await admin.get<{ user: { id: string } }>('/me')).user.id;
  websiteId = (await createWebsite(admin)).id;
  const client = new UmamiClient({ baseUrl: `${origins['self-hosted']}/api`, headers: agent });
  for (const name of [undefined, 'signup'])
    await client.send({ type: 'event', payload: { website: websiteId, url: '/a', ...(name && { name }) } });
  await eventually(
    () => admin.get<{ count: number }>(`/websites/${websiteId}/events`, always()),
    ({ count }) => count === 2,
  );
}, 180_000);

afterAll(async () => {
  for (const process of processes) process.kill('SIGTERM');
  await Promise.all(processes.map((process) => process.exited));
  await drop?.();
  await rm(dataDir, { recursive: true, force: true });
});

async function newAccount(role = 'user') {
  const username = unique('user');
  const { id } = await admin.ok<{ id: string }>('POST', '/users', { username, password, role });
  return { id, username, api: await logIn(`${origins['self-hosted']}/api`, username, password) };
}
const newWebsite = async () => ({ websiteId: (await createWebsite(admin)).id });
const newKey = () => admin.ok<{ id: string; key: string }>('POST', '/me/api-keys', { name: unique('key') });
const segment = { type: 'segment', name: 'Blog', parameters: { filters: [{ name: 'path', value: '/a' }] } };
const newSegment = async () => {
  const { id } = await admin.ok<{ id: string }>('POST', `/websites/${websiteId}/segments`, segment);
  return { websiteId, segmentId: id };
};
const newTeam = async () => {
  const [{ id, accessCode }] = await admin.ok<[{ id: string; accessCode: string }]>('POST', '/teams', { name: 'Crew' });
  return { teamId: id, accessCode };
};
const newMember = async () => {
  const [{ teamId }, { id: userId }] = await Promise.all([newTeam(), newAccount()]);
  await admin.ok('POST', `/teams/${teamId}/users`, { userId, role: 'team-member' });
  return { teamId, userId };
};
const newShare = () =>
  admin.ok<{ id: string; slug: string }>('POST', `/websites/${websiteId}/shares`, { name: 'Public' });

/** What the client is called with: path, query and body in one object, as its users write it. */
const inputs: Record<string, () => object | Promise<object>> = {
  send: () => ({ type: 'event', payload: { website: websiteId, url: '/b', data: { plan: 'pro' } } }),
  batch: () => [{ type: 'event', payload: { website: websiteId, url: '/c' } }],
  login: () => ({ username: 'admin', password }),
  verify: () => ({}),
  logout: () => ({}),
  getMe: () => ({}),
  getMyWebsites: () => ({ pageSize: 5, includeTeams: true }),
  updateMyPassword: () => ({ currentPassword: password, newPassword: password }),
  getMyApiKeys: () => ({}),
  createMyApiKey: () => ({ name: 'made by the client' }),
  deleteMyApiKey: async () => ({ keyId: (await newKey()).id }),
  createUser: () => ({ username: unique('user'), password, role: 'user' }),
  getUser: () => ({ userId: adminId }),
  updateUser: async () => ({ userId: (await newAccount()).id, role: 'view-only' }),
  deleteUser: async () => ({ userId: (await newAccount()).id }),
  getUserWebsites: () => ({ userId: adminId, includeTeams: true }),
  getUserTeams: async () => ({ userId: (await newMember()).userId }),
  getTeams: () => ({ orderBy: 'createdAt', sortDescending: true }),
  getMyTeams: () => ({}),
  createTeam: () => ({ name: 'Crew' }),
  joinTeam: async () => {
    const { api, id } = await newAccount();
    const [team] = await api.ok<[{ id: string; accessCode: string }]>('POST', '/teams', { name: `Crew of ${id}` });
    return { accessCode: team.accessCode };
  },
  getTeam: newTeam,
  updateTeam: async () => ({ teamId: (await newTeam()).teamId, name: 'Others' }),
  deleteTeam: newTeam,
  getTeamWebsites: newTeam,
  getTeamUsers: newTeam,
  createTeamUser: async () => ({ ...(await newTeam()), userId: (await newAccount()).id, role: 'team-member' }),
  getTeamUser: newMember,
  updateTeamUser: async () => ({ ...(await newMember()), role: 'team-manager' }),
  deleteTeamUser: newMember,
  listWebsites: () => ({ orderBy: 'createdAt', sortDescending: true }),
  createWebsite: () => ({ name: 'Shop', domain: 'shop.example', teamId: null }),
  getWebsite: () => ({ websiteId }),
  updateWebsite: () => ({ websiteId, name: 'Renamed', replayConfig: { replayEnabled: true, sampleRate: 0.5 } }),
  deleteWebsite: newWebsite,
  resetWebsite: newWebsite,
  transferWebsite: async () => ({ ...(await newWebsite()), teamId: (await newTeam()).teamId }),
  getWebsiteSegments: async () => ({ ...(await newSegment()), type: 'segment' }),
  createWebsiteSegment: () => ({ websiteId, ...segment }),
  getWebsiteSegment: newSegment,
  updateWebsiteSegment: async () => ({ ...(await newSegment()), ...segment, name: 'Renamed' }),
  deleteWebsiteSegment: newSegment,
  getWebsiteShares: async () => ({ websiteId, search: (await newShare()).slug }),
  createWebsiteShare: () => ({ websiteId, name: 'Public' }),
  createShare: () => ({ entityId: websiteId, shareType: 1, name: 'Public', parameters: { overview: true } }),
  getShareBySlug: async () => ({ slug: (await newShare()).slug }),
  getShare: async () => ({ shareId: (await newShare()).id }),
  updateShare: async () => ({ shareId: (await newShare()).id, name: 'Renamed', slug: randomUUID(), parameters: {} }),
  deleteShare: async () => ({ shareId: (await newShare()).id }),
  getWebsiteStats: () => ({ websiteId, ...always(), compare: 'prev' }),
  getWebsitePageviews: () => ({ websiteId, ...always(), unit: 'year', timezone: 'Europe/Berlin' }),
  getWebsiteEvents: () => ({ websiteId, startDate: new Date(0), endDate: new Date(), path: ['/a', '/b'] }),
  getWebsiteActive: () => ({ websiteId }),
  getWebsiteMetrics: () => ({ websiteId, ...always(), type: 'path', limit: 10 }),
  getWebsiteExpandedMetrics: () => ({ websiteId, ...always(), type: 'browser' }),
};

/**
 * A client for one operation, with the credential of its mode. What ends a session, or a password, is done with an
 * account of its own.
 */
async function clientFor(mode: Mode, id: string): Promise<UmamiClient> {
  const ownSession = ['logout', 'updateMyPassword'].includes(id);
  // The query service of a cloud does not collect.
  const origin = origins[id === 'send' || id === 'batch' ? 'self-hosted' : mode];
  if (mode === 'cloud')
    return new UmamiClient({ baseUrl: `${origin}/v1`, apiKey: (await newKey()).key, headers: agent });
  const username = ownSession ? (await newAccount()).username : 'admin';
  const anybody = new UmamiClient({ baseUrl: `${origin}/api`, headers: agent });
  const { token } = (await anybody.login({ username, password })) as { token: string };
  return anybody.withToken(token);
}

test.each([
  ...common('self-hosted').map((id) => ['self-hosted', id] as const),
  ...common('cloud').map((id) => ['cloud', id] as const),
])('%s: the client calls %s, and the answer is as documented', async (mode, id) => {
  const input = await inputs[id]?.();
  expect(input, 'an input for the operation').toBeDefined();
  const client = await clientFor(mode, id);
  const answer = await client.call(id, input as never);
  expect(checks[mode].answerFaults(id, 200, answer)).toEqual([]);
});

test('an event, and a batch, that is refused is refused as documented', async () => {
  const client = await clientFor('self-hosted', 'send');
  for (const [id, input] of [
    ['send', { type: 'event', payload: { website: 'none' } }],
    ['batch', Array.from({ length: 1_001 }, () => 0)],
  ] as const) {
    const refused = await client.call(id, input as never).catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 400, code: 'bad-request' });
    expect(checks['self-hosted'].answerFaults(id, 400, (refused as { body: unknown }).body)).toEqual([]);
  }
  const ignored = await client.send(
    { type: 'event', payload: { website: websiteId, url: '/' } },
    { headers: { 'user-agent': 'Googlebot/2.1' } },
  );
  expect(ignored).toMatchObject({ beep: 'boop' });
  expect(checks['self-hosted'].answerFaults('send', 200, ignored)).toEqual([]);
});

test.each([
  [413, {}, 'x'.repeat(70_000)],
  [415, { 'content-type': 'application/x-www-form-urlencoded' }, '/'],
  [422, { 'idempotency-key': 'once' }, '/another'],
] as const)('an event that is refused with %i is refused as documented', async (status, headers, url) => {
  const send = (payload: object, more: object = {}) =>
    request('POST', `${origins['self-hosted']}/api/send`, {
      headers: { ...agent, ...more },
      body: { type: 'event', payload: { website: websiteId, ...payload } },
    });
  await send({ url: '/' }, { 'idempotency-key': 'once' });
  const refused = await send({ url }, headers);
  expect([refused.status, checks['self-hosted'].answerFaults('send', status, refused.body)]).toEqual([status, []]);
});

const notOffered = Object.values({
  'logins by other means': [
    'sso',
    'initiateTwoFactorSetup',
    'confirmTwoFactorSetup',
    'cancelTwoFactorSetup',
    'disableTwoFactor',
    'getTwoFactorStatus',
    'verifyTwoFactor',
    'getSubscription',
  ],
  boards: [
    'getBoards',
    'createBoard',
    'getBoard',
    'updateBoard',
    'deleteBoard',
    'cloneBoard',
    'getBoardShares',
    'createBoardShare',
    'getTeamBoards',
  ],
  links: [
    'getLinks',
    'createLink',
    'getLink',
    'updateLink',
    'deleteLink',
    'getLinksCharts',
    'getLinkShares',
    'createLinkShare',
    'getTeamLinks',
  ],
  pixels: [
    'getPixels',
    'createPixel',
    'getPixel',
    'updatePixel',
    'deletePixel',
    'getPixelsCharts',
    'getPixelShares',
    'createPixelShare',
    'getTeamPixels',
  ],
  'of websites': ['getWebsiteDateRange', 'getWebsitesCharts', 'getWebsiteValues', 'exportWebsite', 'getRealtime'],
  'of events': [
    'getWebsiteEventSeries',
    'getWebsiteEventStats',
    'getEventData',
    'getEventDataById',
    'getEventDataEvents',
    'getEventDataFields',
    'getEventDataProperties',
    'getEventDataStats',
    'getEventDataValues',
    'getEventDataPivot',
    'getEventDataPropertySeries',
    'getEventDataArraySeries',
    'getEventDataDateSeries',
    'getEventDataNumericSeries',
    'getEventDataNumericStats',
  ],
  'of sessions': [
    'getWebsiteSessions',
    'getWebsiteSessionStats',
    'getWebsiteSessionsWeekly',
    'getWebsiteSession',
    'deleteWebsiteSession',
    'getWebsiteSessionActivity',
    'getWebsiteSessionProperties',
    'getWebsiteSessionReplays',
    'getSessionDataProperties',
    'getSessionDataValues',
    'getSessionDataStats',
    'getSessionDataPivot',
    'getSessionDataPropertySeries',
    'getSessionDataArraySeries',
    'getSessionDataDateSeries',
    'getSessionDataNumericSeries',
    'getSessionDataNumericStats',
  ],
  annotations: [
    'getWebsiteAnnotations',
    'createWebsiteAnnotation',
    'getWebsiteAnnotation',
    'updateWebsiteAnnotation',
    'deleteWebsiteAnnotation',
  ],
  'funnels and goals': [
    'getWebsiteFunnels',
    'createWebsiteFunnel',
    'getWebsiteFunnel',
    'updateWebsiteFunnel',
    'deleteWebsiteFunnel',
    'getWebsiteFunnelStats',
    'getWebsiteSavedFunnelStats',
    'getWebsiteGoals',
    'createWebsiteGoal',
    'getWebsiteGoal',
    'updateWebsiteGoal',
    'deleteWebsiteGoal',
    'getWebsiteGoalStats',
    'getWebsiteSavedGoalStats',
  ],
  reports: [
    'getWebsiteUtmMetrics',
    'getWebsiteRetention',
    'getWebsiteBreakdown',
    'getWebsiteJourneys',
    'getWebsiteAttribution',
    'getWebsiteRevenueStats',
    'getWebsiteRevenueChart',
    'getWebsiteRevenueMetrics',
    'getWebsiteRevenueSessions',
    'getWebsitePerformanceStats',
    'getWebsitePerformanceChart',
    'getWebsitePerformanceMetrics',
  ],
  recordings: [
    'record',
    'getWebsiteRecorderConfig',
    'getWebsiteReplays',
    'getWebsiteReplay',
    'getWebsiteSavedReplays',
    'getWebsiteReplaySaved',
    'saveWebsiteReplay',
    'getWebsiteHeatmaps',
  ],
}).flat();

test('what the client has and we have not is named here, so that a later one is not forgotten', () => {
  expect(inClient.filter((id) => !common('self-hosted').includes(id as never)).sort()).toEqual([...notOffered].sort());
});
