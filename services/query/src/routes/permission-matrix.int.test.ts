import { randomBytes, randomUUID } from 'node:crypto';
import { apiKeyPrefix, hashApiKey, newApiKey } from '@meridian/registry/credentials';
import { testActor } from '@meridian/registry/registry-fixtures';
import type { AccountRole, TeamRole, User } from '@meridian/registry/rows';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createQueryApp } from '../create-query-app.ts';
import { createStatisticsApi } from '../statistics-fixtures.ts';

/*
 * Who may do what with what, as a table that is walked whole: every caller, by session and by key, every operation,
 * every kind of object.
 */

/**
 * `viewOnly`: an account of role view-only that owns a website and the team. `maker`: a team-member that made a website
 * in the team.
 */
const everybody = [
  'admin',
  'owner',
  'teamOwner',
  'teamManager',
  'teamMember',
  'maker',
  'teamViewer',
  'viewOnly',
  'stranger',
] as const;
type Who = (typeof everybody)[number];
const credentials = ['session', 'key'] as const;
type Credential = (typeof credentials)[number];
type Rights = Partial<Record<Who, string>>;

const everything = 'read update delete reset transfer';
const ofTheTeam: Rights = {
  admin: everything,
  teamOwner: everything,
  teamManager: everything,
  teamMember: 'read',
  maker: 'read',
  teamViewer: 'read',
  viewOnly: 'read',
};
const websites = {
  'of owner': { admin: everything, owner: everything },
  'of the team': ofTheTeam,
  'of the team, made by maker': { ...ofTheTeam, maker: 'read update' },
  'of viewOnly': { admin: everything, viewOnly: 'read' },
  unknown: {},
  malformed: {},
  deleted: {},
  'of a deleted team': {},
  'of a deleted account': {},
  'of another region': {},
} satisfies Record<string, Rights>;
type WebsiteKind = keyof typeof websites;

/** What is asked, and the right to it. */
const websiteOperations: [route: string, right: string, body?: object][] = [
  ['GET /websites/:websiteId', 'read'],
  ['GET /websites/:websiteId/stats', 'read'],
  ['GET /websites/:websiteId/pageviews', 'read'],
  ['GET /websites/:websiteId/events', 'read'],
  ['GET /websites/:websiteId/active', 'read'],
  ['GET /websites/:websiteId/metrics', 'read'],
  ['GET /websites/:websiteId/metrics/expanded', 'read'],
  ['GET /websites/:websiteId/segments', 'read'],
  ['GET /websites/:websiteId/segments/:segmentId', 'read'],
  ['GET /websites/:websiteId/shares', 'read'],
  ['GET /share/id/:shareId', 'read'],
  ['POST /websites/:websiteId', 'update', { name: 'Renamed' }],
  ['POST /websites/:websiteId/segments', 'update', { type: 'segment', name: 'x', parameters: {} }],
  ['POST /websites/:websiteId/segments/:segmentId', 'update', { type: 'segment', name: 'y', parameters: {} }],
  ['DELETE /websites/:websiteId/segments/:segmentId', 'update'],
  ['POST /websites/:websiteId/shares', 'update', { name: 'x' }],
  ['POST /share', 'update', { name: 'x', shareType: 1, entityId: ':websiteId' }],
  ['POST /share/id/:shareId', 'update', { name: 'y' }],
  ['DELETE /share/id/:shareId', 'update'],
  ['POST /websites/:websiteId/reset', 'reset'],
  ['POST /websites/:websiteId/transfer', 'transfer', { userId: ':callerId' }],
  ['DELETE /websites/:websiteId', 'delete'],
];

const wholeTeam = 'read update manage create delete';
const teams = {
  'the team': {
    admin: wholeTeam,
    teamOwner: wholeTeam,
    teamManager: 'read update manage create',
    teamMember: 'read create',
    maker: 'read create',
    teamViewer: 'read',
    viewOnly: 'read',
  },
  'another team': { admin: wholeTeam },
  unknown: {},
  malformed: {},
  deleted: {},
} satisfies Record<string, Rights>;
type TeamKind = keyof typeof teams;

const teamOperations: [route: string, right: string, body?: object][] = [
  ['GET /teams/:teamId', 'read'],
  ['GET /teams/:teamId/users', 'read'],
  ['GET /teams/:teamId/users/:memberId', 'read'],
  ['GET /teams/:teamId/websites', 'read'],
  ['POST /teams/:teamId', 'update', { name: 'Renamed' }],
  ['POST /teams/:teamId/users', 'manage', { userId: ':newcomerId', role: 'team-member' }],
  ['POST /teams/:teamId/users/:memberId', 'manage', { role: 'team-view-only' }],
  ['DELETE /teams/:teamId/users/:memberId', 'manage'],
  ['POST /websites', 'create', { name: 'Shop', domain: 'shop.example', teamId: ':teamId' }],
  ['DELETE /teams/:teamId', 'delete'],
];

const inOwnName = { name: 'Shop', domain: 'shop.example' };
const newUser = { username: ':name', password: 'long enough', role: 'user' };
/** Who is answered 200 by a session, who by a key; all others 403. */
const otherOperations: [route: string, session: readonly Who[], key: readonly Who[], body?: object][] = [
  ['GET /me', everybody, everybody],
  ['GET /me/websites', everybody, everybody],
  ['GET /me/teams', everybody, everybody],
  ['GET /me/api-keys', everybody, everybody],
  ['GET /websites', everybody, everybody],
  ['GET /teams', everybody, everybody],
  ['GET /auth/verify', everybody, everybody],
  ['POST /auth/verify', everybody, everybody],
  ['POST /me/api-keys', everybody, everybody, { name: 'ci' }],
  ['DELETE /me/api-keys/:ownKeyId', everybody, everybody],
  ['POST /websites', all('viewOnly'), all('viewOnly'), inOwnName],
  ['POST /teams', all('viewOnly'), all('viewOnly'), { name: 'Team' }],
  ['POST /teams', ['admin'], ['admin'], { name: 'Team', ownerId: ':someoneId' }],
  ['POST /teams/join', all('viewOnly'), all('viewOnly'), { accessCode: ':accessCode' }],
  ['POST /users', ['admin'], [], newUser],
  ['GET /users/:someoneId', ['admin'], []],
  ['POST /users/:someoneId', ['admin'], [], { role: 'user' }],
  ['GET /users/:someoneId/websites', ['admin'], []],
  ['GET /users/:someoneId/teams', ['admin'], []],
  ['DELETE /users/:someoneId', ['admin'], []],
  ['GET /admin/users', ['admin'], ['admin']],
  ['GET /admin/teams', ['admin'], ['admin']],
  ['GET /admin/websites', ['admin'], ['admin']],
  ['GET /admin/audit', ['admin'], ['admin']],
  ['POST /me/password', everybody, [], { currentPassword: ':password', newPassword: 'another one' }],
  ['POST /auth/logout', everybody, []],
];

function all(but: Who): Who[] {
  return everybody.filter((who) => who !== but);
}

type Account = { id: string; username: string; password: string; token: string };
type Ids = Record<string, string>;

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
let accounts: Record<Who, Account>;
/** A team and a website of somebody else, and what was deleted. */
let past: {
  team: Ids;
  deletedTeam: Ids;
  deleted: Ids;
  ofDeletedTeam: Ids;
  ofDeletedAccount: Ids;
  ofAnotherRegion: Ids;
};

beforeAll(async () => {
  api = await createStatisticsApi();
  const made = everybody.map(async (who) => [who, await api.newAccount(roleOf(who))]);
  accounts = Object.fromEntries(await Promise.all(made)) as Record<Who, Account>;

  const [leaver, stays] = [await api.fixtures.newUser(), await api.fixtures.newUser()];
  const deletedTeam = await newTeam();
  const [deleted, ofDeletedTeam] = [await newWebsite('of owner'), await newWebsite('of the team', deletedTeam)];
  const [ofDeletedAccount, ofAnotherRegion] = [
    await withParts(await api.fixtures.newWebsite(leaver)),
    await withParts(await api.fixtures.newWebsite(await userOf('owner'), { region: 'eu' })),
  ];
  await api.deps.registry.deleteWebsite(deleted.websiteId ?? '', testActor);
  await api.deps.registry.deleteTeam(deletedTeam.teamId ?? '', testActor);
  await api.deps.registry.deleteUser(leaver.id, testActor);
  const team = { teamId: await api.fixtures.newTeam([[stays, 'team-owner']]), memberId: stays.id };
  past = { team, deletedTeam, deleted, ofDeletedTeam, ofDeletedAccount, ofAnotherRegion };
});
afterAll(() => api.close());

function roleOf(who: Who): AccountRole {
  if (who === 'admin') return 'admin';
  return who === 'viewOnly' ? 'view-only' : 'user';
}

async function userOf(who: Who): Promise<User> {
  const user = await api.deps.registry.findUserById(accounts[who].id);
  if (!user) throw new Error(`no ${who}`);
  return user;
}

/** A team in which everybody has the role of his name, and with a member beside. */
async function newTeam(): Promise<Ids> {
  const member = await api.fixtures.newUser();
  const roles: [Who, TeamRole][] = [
    ['teamOwner', 'team-owner'],
    ['teamManager', 'team-manager'],
    ['teamMember', 'team-member'],
    ['maker', 'team-member'],
    ['teamViewer', 'team-view-only'],
    ['viewOnly', 'team-owner'],
  ];
  const members = roles.map(([who, role]): [{ id: string }, TeamRole] => [accounts[who], role]);
  const teamId = await api.fixtures.newTeam([...members, [member, 'team-member']]);
  const [row] = await api.fixtures.sql('SELECT access_code FROM team WHERE id = $1', [teamId]);
  return { teamId, memberId: member.id, accessCode: String(row?.access_code) };
}

async function withParts({ id: websiteId }: { id: string }): Promise<Ids> {
  const fields = { type: 'segment', name: 'x', parameters: {} } as const;
  const segment = await api.deps.registry.createSegment(websiteId, fields, testActor);
  if (!segment) throw new Error('No website');
  const share = { name: 'x', slug: randomUUID(), parameters: {} };
  const shared = await api.deps.registry.createShare(websiteId, share, testActor);
  if (!shared.ok) throw new Error(shared.reason);
  return { websiteId, segmentId: segment.id, shareId: shared.share.id };
}

const unknown = (): Ids => ({ websiteId: randomUUID(), segmentId: randomUUID(), shareId: randomUUID() });
const malformed: Ids = { websiteId: 'undefined', segmentId: 'undefined', shareId: 'undefined' };

async function newWebsite(kind: WebsiteKind, team?: Ids): Promise<Ids> {
  const { newWebsite: make } = api.fixtures;
  if (kind === 'of owner') return withParts(await make(await userOf('owner')));
  if (kind === 'of viewOnly') return withParts(await make(await userOf('viewOnly')));
  const teamId = (team ?? (await newTeam())).teamId ?? '';
  if (kind === 'of the team') return withParts(await make(await userOf('teamOwner'), { teamId }));
  if (kind === 'of the team, made by maker') return withParts(await make(await userOf('maker'), { teamId }));
  if (kind === 'unknown') return unknown();
  if (kind === 'malformed') return malformed;
  if (kind === 'deleted') return past.deleted;
  if (kind === 'of a deleted team') return past.ofDeletedTeam;
  if (kind === 'of a deleted account') return past.ofDeletedAccount;
  return past.ofAnotherRegion;
}

async function teamOf(kind: TeamKind): Promise<Ids> {
  if (kind === 'the team') return newTeam();
  if (kind === 'another team') {
    const [owner, member] = [await api.fixtures.newUser(), await api.fixtures.newUser()];
    const teamId = await api.fixtures.newTeam([
      [owner, 'team-owner'],
      [member, 'team-member'],
    ]);
    return { teamId, memberId: member.id };
  }
  if (kind === 'unknown') return { teamId: randomUUID(), memberId: randomUUID() };
  if (kind === 'malformed') return { teamId: 'undefined', memberId: 'undefined' };
  return past.deletedTeam;
}

/** `:name` in a path or a text of a body is filled in. */
const filled = (text: string, ids: Ids) =>
  text.replaceAll(/:([a-z]\w*)/gi, (_match, name: string) => ids[name] ?? name);
const varying = ['x-request-id', 'server-timing', 'ratelimit-remaining', 'ratelimit-reset'];

/** One request, by session or by key. `bytes`: all of the answer that may not tell one id from another. */
async function ask(who: Who, credential: Credential, route: string, ids: Ids, body?: object, request = api.call) {
  const account = accounts[who];
  const [method = '', path = ''] = filled(route, ids).split(' ');
  const sent = body && JSON.parse(filled(JSON.stringify(body), { callerId: account.id, ...ids }));
  const token = credential === 'session' ? (ids.token ?? account.token) : await keyOf(account.id);
  const query = /\/metrics/.test(path)
    ? '?type=path'
    : /\/segments$/.test(path) && method === 'GET'
      ? '?type=segment'
      : '';
  const { status, headers, text, json } = await request(method, path + query, { token, ...(sent && { body: sent }) });
  const told: string[] = [];
  headers.forEach((value, name) => {
    if (!varying.includes(name)) told.push(`${name}: ${value}`);
  });
  return { status, json, bytes: JSON.stringify([status, told, text]) };
}

const keysInUse = new Map<string, { key: string; requestsLeft: number }>();

/** A key of the account that is not at its limit. */
async function keyOf(userId: string): Promise<string> {
  let known = keysInUse.get(userId);
  if (!known?.requestsLeft) known = { key: (await newKey(userId)).key, requestsLeft: 50 };
  known.requestsLeft--;
  keysInUse.set(userId, known);
  return known.key;
}

async function newKey(userId: string) {
  const key = newApiKey();
  const fields = { userId, name: 'matrix', keyHash: hashApiKey(key), keyPrefix: apiKeyPrefix(key) };
  return { ...(await api.deps.registry.createApiKey(fields, testActor)), key };
}

/**
 * Walks a table for one caller; what the caller may not even see answers every kind of object the same, byte for byte.
 */
async function walk<Kind extends string>(
  operations: [route: string, right: string, body?: object][],
  objects: Record<Kind, Rights>,
  make: (kind: Kind) => Promise<Ids>,
  asked: (route: string, ids: Ids, body?: object) => ReturnType<typeof ask>,
  rightsOf: (rights: Rights) => string | undefined,
) {
  const kinds = Object.keys(objects) as Kind[];
  const lasting = Object.fromEntries(await Promise.all(kinds.map(async (kind) => [kind, await make(kind)])));
  const [wrong, hidden] = [[] as string[], new Map<string, Set<string>>()];
  for (const [route, right, body] of operations)
    for (const kind of kinds) {
      const rights = (rightsOf(objects[kind]) ?? '').split(' ');
      const isAllowed = rights.includes(right);
      const isLost = isAllowed && /^DELETE|transfer$/.test(route);
      const ids: Ids = isLost ? await make(kind) : lasting[kind];
      const newcomerId = right === 'manage' ? (await api.fixtures.newUser()).id : '';
      const { status, json, bytes } = await asked(route, { ...ids, newcomerId }, body);
      const isNull = route === 'GET /websites/:websiteId' && !isAllowed;
      const expected = isAllowed || isNull ? 200 : rights.includes('read') || right === 'create' ? 403 : 404;
      if (status !== expected || (isNull && json !== null) || (isAllowed && json === null))
        wrong.push(`${route} ${kind}: ${status} ${JSON.stringify(json)}, not ${expected}`);
      if (!isAllowed && (expected !== 403 || right === 'create'))
        hidden.set(route, (hidden.get(route) ?? new Set()).add(bytes));
    }
  expect(wrong).toEqual([]);
  for (const [route, answers] of hidden) expect([...answers], route).toHaveLength(1);
}

const callers = everybody.flatMap((who) => credentials.map((credential) => [who, credential] as const));

describe.each(callers)('%s by %s', (who, credential) => {
  const asked = (route: string, ids: Ids, body?: object) => ask(who, credential, route, ids, body);

  test('websites', () => walk(websiteOperations, websites, newWebsite, asked, (rights) => rights[who]));

  test('teams', () => walk(teamOperations, teams, teamOf, asked, (rights) => rights[who]));

  test('everything else', async () => {
    const wrong = [];
    for (const [route, session, key, body] of otherOperations) {
      const someoneId = (await api.fixtures.newUser()).id;
      const ids = { someoneId, name: randomBytes(8).toString('hex'), ownKeyId: (await newKey(accounts[who].id)).id };
      const { accessCode = '' } = route.includes('join') ? await newTeam() : {};
      // In the place of an account whose session or password would be gone.
      const { token, password } = await (/password|logout/.test(route) ? api.newAccount(roleOf(who)) : accounts[who]);
      const { status } = await asked(route, { ...ids, accessCode, token, password }, body);
      const expected = (credential === 'session' ? session : key).includes(who) ? 200 : 403;
      if (status !== expected) wrong.push(`${route} ${JSON.stringify(body)}: ${status}, not ${expected}`);
    }
    expect(wrong).toEqual([]);
  });

  test('accounts, keys and access codes of others, of nobody and of who is gone answer the same', async () => {
    const gone = await api.newAccount();
    await api.deps.registry.deleteUser(gone.id, testActor);
    const { accessCode = '' } = past.deletedTeam;
    const [theirs, unknownCode] = [
      (await newKey(past.team.memberId ?? '')).id,
      `team_${randomBytes(8).toString('hex')}`,
    ];
    const [isAdmin, manages] = [who === 'admin', who === 'admin' && credential === 'session'];
    const stays = past.team.memberId ?? '';
    const same: [route: string, status: number, ids: string[], body?: object][] = [
      ['DELETE /me/api-keys/:id', 404, [theirs, randomUUID(), 'undefined']],
      ['POST /teams/join', who === 'viewOnly' ? 403 : 404, [accessCode, unknownCode], { accessCode: ':id' }],
      [
        'POST /teams',
        isAdmin ? 400 : 403,
        isAdmin ? [gone.id, 'x'] : [stays, gone.id, 'x'],
        { name: 'T', ownerId: ':id' },
      ],
      ...(['GET /users/:id', 'POST /users/:id', 'DELETE /users/:id'] as const).map(
        (route): [string, number, string[], object] => [
          route,
          manages ? 404 : 403,
          manages ? [gone.id, randomUUID(), 'undefined'] : [stays, gone.id, randomUUID(), 'undefined'],
          {},
        ],
      ),
      ...(['GET /users/:id/websites', 'GET /users/:id/teams'] as const).map((route): [string, number, string[]] => [
        route,
        manages ? 404 : 403,
        manages ? [gone.id, randomUUID(), 'undefined'] : [stays, gone.id, randomUUID(), 'undefined'],
      ]),
    ];
    // A viewOnly account creates no teams at all, and is told so.
    for (const [route, expected, ids, body] of same) {
      const answers = [];
      for (const id of ids) answers.push(await asked(route, { id }, route.startsWith('GET') ? undefined : body));
      expect(
        answers.map(({ status }) => status),
        route,
      ).toEqual(ids.map(() => expected));
      expect(new Set(answers.map(({ bytes }) => bytes)).size, route).toBe(1);
    }
  });
});

test('on cloud an administrator has no power over others', async () => {
  const cloud = createQueryApp({ ...api.deps, config: { ...api.deps.config, mode: 'cloud' } });
  const call: typeof api.call = async (method, path, { token, body } = {}) => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await cloud.request(`/v1${path}`, { method, headers, body: body ? JSON.stringify(body) : null });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) };
  };
  const asked = (route: string, ids: Ids, body?: object) => ask('admin', 'key', route, ids, body, call);
  await walk(websiteOperations, websites, newWebsite, asked, () => undefined);
  await walk(teamOperations, teams, teamOf, asked, () => undefined);
  for (const path of ['users', 'teams', 'websites', 'audit'])
    expect((await asked(`GET /admin/${path}`, {})).status).toBe(403);
});

test('every operation that needs a credential is in the table', async () => {
  const plain = (route: string) => route.replaceAll(/:\w+/g, ':id');
  const inTable = [...websiteOperations, ...teamOperations, ...otherOperations].map(([route]) => plain(route));
  const app = createQueryApp(api.deps);
  const [routes, missing] = [new Set<string>(), new Set<string>()];
  for (const { method, path } of app.routes) {
    const route = plain(`${method} ${path.replace('/api', '')}`);
    routes.add(route);
    if (method === 'ALL' || inTable.includes(route)) continue;
    const answer = await app.request(path.replaceAll(/:\w+/g, 'x'), { method });
    if (answer.status === 401) missing.add(route);
  }
  expect([...missing]).toEqual([]);
  expect(inTable.filter((route) => !routes.has(route))).toEqual([]);
});
