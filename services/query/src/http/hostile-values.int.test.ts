import { randomUUID } from 'node:crypto';
import { filterNames } from '@meridian/contract/statistics';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { createRegistry } from '@meridian/registry/registry';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createQueryApp } from '../create-query-app.ts';
import { createStatisticsApi } from '../statistics-fixtures.ts';
import { insides } from './test-insides.ts';

// What nobody should send, to every route that there is: routes that come later are asked as well.

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
/** An administrator: what nobody else may do has to withstand this too. */
let token: string;
let userId: string;

beforeAll(async () => {
  api = await createStatisticsApi();
  ({ token, id: userId } = await api.newAccount('admin'));
});
afterAll(() => api.close());

type Route = { method: string; path: string };
type Answer = Awaited<ReturnType<typeof api.call>>;

/** All that answer JSON, without the prefix that they have. */
const routes = (): Route[] =>
  createQueryApp(api.deps)
    .routes.filter(({ method, path }) => method !== 'ALL' && /^\/api\/(?!docs|openapi)/.test(path))
    .map(({ method, path }) => ({ method, path: path.replace(/^\/api/, '') }));
const parametersOf = ({ path }: Route) => [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
const nameOf = ({ method, path }: Route) => `${method} ${path}`;

/** What names something that is there, so that the rest of a request is looked at. */
async function known(parameter: string): Promise<string> {
  if (parameter === 'websiteId') return (await newWebsite()).id;
  if (parameter === 'userId') return (await api.newAccount()).id;
  if (parameter === 'teamId') return api.fixtures.newTeam([[{ id: userId }, 'team-owner']]);
  if (parameter === 'shareId') return newShare((await newWebsite()).id);
  return randomUUID();
}

async function newWebsite(): Promise<{ id: string }> {
  return api.ok('POST', '/websites', { token, body: { name: 'Shop', domain: 'shop.example' } });
}

async function newShare(websiteId: string): Promise<string> {
  return (await api.ok('POST', `/websites/${websiteId}/shares`, { token, body: { name: 'Link' } })).id;
}

async function address(route: Route, given: Record<string, string> = {}): Promise<string> {
  let path = route.path;
  for (const name of parametersOf(route)) {
    const value = given[name] ?? (await known(name));
    path = path.replace(`:${name}`, () => value);
  }
  return path;
}

/** No answer tells what is inside, may be kept, or is anything but JSON. */
function expectSafe(answer: Answer, about: string): void {
  expect(answer.status, `${about}: ${answer.text}`).toBeLessThan(500);
  expect(answer.text, about).not.toMatch(insides);
  const { headers } = answer;
  expect(headers.get('content-type'), about).toMatch(/^application\/json/);
  expect(headers.get('x-content-type-options'), about).toBe('nosniff');
  expect(headers.get('cache-control'), about).toBe('no-store');
  if (answer.status >= 400) expect(answer.json.error, about).toMatchObject({ status: answer.status });
}

/** What an answer says apart from the value that was sent. */
const saysBeside = ({ status, text }: Answer, value: string) =>
  `${status} ${text.replaceAll(JSON.stringify(value).slice(1, -1), '<value>')}`;

const fragments = [
  "' OR '1'='1",
  "\\' OR 1=1 --",
  "') UNION ALL SELECT name,1 FROM system.tables --",
  '1); DROP TABLE website; --',
  '{p0:UUID}',
  '$1',
  '%27%20OR%201=1',
  '`;SELECT pg_sleep(9)--',
];
/** A value of that kind which means nothing anywhere. */
const nothing = 'Zzyzx';

/** One that ends a text of either store, however it is quoted, for where the places are many. */
const union = "\\') OR '1'='1' UNION ALL SELECT name, 1 FROM system.tables -- \"`";

test('a fragment of SQL in the place of an id is an id that nobody has, on every route', async () => {
  const asked = routes().filter((route) => parametersOf(route).length > 0);
  expect(asked.length).toBeGreaterThan(15);
  for (const route of asked) {
    for (const parameter of parametersOf(route)) {
      const pattern = await address(route, { [parameter]: `:${parameter}` });
      const ask = async (value: string) => {
        const path = pattern.replace(`:${parameter}`, () => encodeURIComponent(value));
        return api.call(route.method, path, { token, ...(route.method === 'POST' && { body: {} }) });
      };
      const none = saysBeside(await ask(nothing), nothing);
      for (const fragment of [...fragments, '../users', '%2e%2e%2f', '\r\nx: y', '\0', '\u2028', 'a'.repeat(5_000)]) {
        const answer = await ask(fragment);
        expectSafe(answer, `${nameOf(route)} ${fragment}`);
        if (answer.status !== 400) expect(saysBeside(answer, fragment), `${nameOf(route)} ${fragment}`).toBe(none);
      }
    }
  }
}, 120_000);

const parameters = [
  ...[
    'startAt',
    'endAt',
    'startDate',
    'endDate',
    'timezone',
    'unit',
    'compare',
    'match',
    'eventType',
    'excludeBounce',
    'approximate',
  ],
  ...['segment', 'cohort', 'page', 'pageSize', 'maxResults', 'cursor', 'search', 'type', 'limit', 'offset', 'orderBy'],
  ...[
    'sortDescending',
    'includeTeams',
    'userId',
    'subjectId',
    'action',
    'teamId',
    'username',
    'name',
    'slug',
    'shareId',
  ],
  ...filterNames,
];

test('a fragment of SQL in any parameter is a value that nothing has, or 400, on every route', async () => {
  const asked = routes().filter(({ method }) => method === 'GET');
  expect(asked.length).toBeGreaterThan(10);
  const site = await api.siteWith([{ t: '10:00', urlPath: '/a' }]);
  await api.call('POST', `/websites/${site.id}/segments`, {
    token: api.token,
    body: { type: 'segment', name: 'Segment', parameters: { filters: [] } },
  });
  for (const route of asked) {
    const path = await address(route, { websiteId: site.id });
    const ask = (name: string, value: string) => {
      const query = new URLSearchParams({ startAt: '1780000000000', endAt: '1790000000000', type: typeFor(route) });
      query.set(name, value);
      return api.call('GET', `${path}?${query}`, { token });
    };
    for (const name of parameters) {
      const none = saysBeside(await ask(name, nothing), nothing);
      const answer = await ask(name, union);
      expectSafe(answer, `${nameOf(route)} ${name}`);
      if (answer.status !== 400) expect(saysBeside(answer, union), `${nameOf(route)} ${name}`).toBe(none);
    }
  }
}, 300_000);

const typeFor = ({ path }: Route) => (path.includes('segments') ? 'segment' : 'path');

/** A body for each route that takes one; what is not listed gets them all. */
const bodies: Record<string, object> = {
  'POST /auth/login': { username: 'ada', password: 'a password' },
  'POST /me/api-keys': { name: 'ci' },
  'POST /websites': { name: 'Shop', domain: 'shop.example', shareId: null, teamId: null, id: null },
  'POST /websites/:websiteId': {
    name: 'Shop',
    domain: 'shop.example',
    shareId: null,
    replayConfig: { maskLevel: 'none' },
  },
  'POST /websites/:websiteId/segments': {
    type: 'cohort',
    name: 'Cohort',
    parameters: {
      dateRange: 'all',
      action: { type: 'path', value: '/a' },
      filters: [{ name: 'path', operator: 're', value: '/a' }],
    },
  },
  'POST /websites/:websiteId/shares': { name: 'Link', slug: 'link', parameters: {} },
  'POST /share/id/:shareId': { name: 'Link', slug: 'link', parameters: {} },
  'POST /websites/:websiteId/transfer': { userId: 'x', teamId: null },
  'POST /teams': { name: 'Team', ownerId: null },
  'POST /teams/join': { accessCode: 'x' },
  'POST /teams/:teamId': { name: 'Team', accessCode: null },
  'POST /teams/:teamId/users': { userId: 'x', role: 'team-member' },
  'POST /teams/:teamId/users/:userId': { role: 'team-member' },
  'POST /users': { username: 'ada', password: 'a password', role: 'user' },
  'POST /users/:userId': { username: 'ada', password: 'a password', role: 'user' },
};
const anyBody = {
  ...{ name: 'x', username: 'x', password: 'a password', role: 'user', domain: 'x.example', shareId: 'x', slug: 'x' },
  ...{ teamId: 'x', userId: 'x', id: 'x', accessCode: 'x', shareType: 1, parameters: {}, entityId: 'x' },
};
const bodyFor = (route: Route): object => bodies[nameOf(route)] ?? anyBody;

/** The object once for each text, number or null in it, with the value in that place. */
function withValue(body: unknown, value: unknown): unknown[] {
  if (typeof body !== 'object' || body === null) return [value];
  return Object.entries(body).flatMap(([key, inner]) =>
    withValue(inner, value).map((changed) =>
      Array.isArray(body) ? body.with(Number(key), changed) : { ...body, [key]: changed },
    ),
  );
}

/** What would end the session that asks. */
const endsSession = /logout|\/me\/password/;
const taking = () => routes().filter(({ method, path }) => method === 'POST' && !endsSession.test(path));

test('a fragment of SQL in any field of a body is stored as it is, or as good as any other wrong value, on every route', async () => {
  expect(taking().length).toBeGreaterThan(5);
  for (const route of taking()) {
    const path = await address(route);
    const plain = withValue(bodyFor(route), nothing);
    for (const [i, body] of withValue(bodyFor(route), union).entries()) {
      const about = `${nameOf(route)} ${JSON.stringify(body)}`;
      const answer = await api.call('POST', path, { token, body });
      expectSafe(answer, about);
      const none = await api.call('POST', path, { token, body: plain[i] });
      // A name is taken the second time, and a fragment has letters that a domain or a share id must not have.
      if (![200, 400, 429].includes(answer.status)) expect(answer.status, about).toBe(none.status);
    }
  }
  const named = await api.ok('POST', '/websites', { token, body: { name: union, domain: 'shop.example' } });
  expect(await api.ok('GET', `/websites/${named.id}`, { token })).toMatchObject({ name: union });
  expect((await api.ok('GET', `/websites?search=${encodeURIComponent(union)}`, { token })).count).toBeGreaterThan(0);
}, 120_000);

test('a field that is of another kind than it should be is 400 at most, on every route', async () => {
  for (const route of taking()) {
    const path = await address(route);
    for (const value of [{ $ne: '' }, { toString: 1 }, ['x'], [], 1e300, -1, true, { length: 5 }])
      for (const body of withValue(bodyFor(route), value)) {
        const answer = await api.call('POST', path, { token, body });
        expectSafe(answer, `${nameOf(route)} ${JSON.stringify(body)}`);
      }
    for (const levels of [4_990, 9_990])
      for (const body of [...withValue(bodyFor(route), nothing), { ...bodyFor(route), parameters: { x: nothing } }]) {
        const raw = JSON.stringify(body).replace(`"${nothing}"`, '['.repeat(levels) + ']'.repeat(levels));
        expectSafe(await api.call('POST', path, { token, raw }), `${nameOf(route)} ${levels} levels deep`);
      }
  }
}, 120_000);

describe('prototypes', () => {
  const own = () => Object.getOwnPropertyNames(Object.prototype).sort().join();
  const clean = own();
  const poison = '{"polluted":1,"id":"polluted","name":"polluted","role":"admin","isAdmin":true,"page":9,"teamId":"x"}';

  test('are the same after bodies that name them, on every route; what they hold is not taken', async () => {
    for (const route of taking()) {
      const path = await address(route);
      const fields = JSON.stringify(bodyFor(route)).slice(1, -1);
      const poisoned = [
        `{"__proto__":${poison}}`,
        `{${fields},"__proto__":${poison}}`,
        `{${fields},"constructor":{"prototype":${poison}}}`,
        `{${fields},"parameters":{"__proto__":${poison},"filters":[{"__proto__":${poison}}]}}`,
        `{${fields},"replayConfig":{"__proto__":{"sampleRate":0.5,"replayEnabled":true}}}`,
      ];
      for (const raw of poisoned) {
        const answer = await api.call('POST', path, { token, raw });
        expectSafe(answer, `${nameOf(route)} ${raw}`);
        expect(answer.text, raw).not.toContain('polluted');
        expect([({} as Record<string, unknown>).polluted, own()], raw).toEqual([undefined, clean]);
      }
    }
    const missing = await api.call('POST', '/websites', {
      token,
      raw: '{"__proto__":{"name":"Shop","domain":"shop.example"}}',
    });
    expect([missing.status, Object.keys(missing.json.error.properties)]).toEqual([400, ['name', 'domain']]);
    const wanted = randomUUID();
    const created = await api.ok('POST', '/websites', {
      token,
      raw: `{"name":"Shop","domain":"shop.example","__proto__":{"id":"${wanted}","shareId":"proto"}}`,
    });
    expect([created.id === wanted, created.shareId, created.recorderEnabled]).toEqual([false, null, false]);
    expect((await api.ok('GET', '/me', { token })).user).toMatchObject({ id: userId });
  }, 120_000);

  test('are the same after parameters that name them, which change no answer', async () => {
    const site = await api.siteWith([{ t: '10:00', urlPath: '/a' }]);
    const queries = [
      '__proto__=1',
      '__proto__[polluted]=1',
      '__proto__.polluted=1',
      '__proto__[page]=9',
      'constructor=1',
      'constructor[prototype][polluted]=1',
      'toString=1&hasOwnProperty=1&valueOf=1',
      'page[__proto__][polluted]=1',
      'path[$ne]=x&path[]=x',
    ];
    for (const route of routes().filter(({ method }) => method === 'GET')) {
      const path = await address(route, { websiteId: site.id });
      const range = `startAt=1780000000000&endAt=1790000000000&type=${typeFor(route)}`;
      const plain = await api.call('GET', `${path}?${range}`, { token });
      for (const query of queries) {
        const answer = await api.call('GET', `${path}?${range}&${query}`, { token });
        expectSafe(answer, `${nameOf(route)} ${query}`);
        expect([answer.status, answer.text], `${nameOf(route)} ${query}`).toEqual([plain.status, plain.text]);
        expect([({} as Record<string, unknown>).polluted, own()]).toEqual([undefined, clean]);
      }
    }
  }, 120_000);
});

describe('a website of somebody else', () => {
  test('is on every route what an unknown one is: for a stranger with a session, with a key, and for nobody', async () => {
    const site = await api.siteWith([{ t: '10:00', urlPath: '/secret' }]);
    const before = await api.ok('GET', `/websites/${site.id}`, { token: api.token });
    const stranger = await api.newAccount();
    const ofWebsites = routes().filter(({ path }) => path.includes(':websiteId'));
    expect(ofWebsites.length).toBeGreaterThan(10);
    for (const route of ofWebsites) {
      const { key } = await api.ok('POST', '/me/api-keys', { token: stranger.token, body: { name: 'stranger' } });
      for (const credential of [stranger.token, String(key), undefined]) {
        const ask = async (websiteId: string) => {
          const path = await address(route, { websiteId });
          const body = route.method === 'POST' ? { body: bodyFor(route) } : {};
          return api.call(route.method, `${path}?type=${typeFor(route)}`, { token: credential, ...body });
        };
        const [foreign, unknown] = [await ask(site.id), await ask(randomUUID())];
        expectSafe(foreign, nameOf(route));
        expect([foreign.status, foreign.text], nameOf(route)).toEqual([unknown.status, unknown.text]);
        const isRead = nameOf(route) === 'GET /websites/:websiteId';
        expect(foreign.status, nameOf(route)).toBe(credential === undefined ? 401 : isRead ? 200 : 404);
      }
    }
    expect(await api.ok('GET', `/websites/${site.id}`, { token: api.token })).toEqual(before);
    expect(await site.ask('/stats')).toMatchObject({ pageviews: 1 });
  }, 120_000);

  test('is gone from every route of another process as soon as it is deleted', async () => {
    const site = await api.siteWith([{ t: '10:00', urlPath: '/secret' }]);
    const registry = createRegistry(api.fixtures.url);
    const other = createQueryApp({ ...api.deps, registry });
    const ofWebsites = routes().filter(({ method, path }) => method === 'GET' && path.includes(':websiteId'));
    const ask = async (route: Route) => {
      const path = await address(route, { websiteId: site.id });
      const headers = { authorization: `Bearer ${api.token}` };
      const answer = await other.request(`/api${path}?type=${typeFor(route)}`, { headers });
      return { status: answer.status, text: await answer.text() };
    };
    for (const route of ofWebsites) expect([200, 404], nameOf(route)).toContain((await ask(route)).status);
    await api.ok('DELETE', `/websites/${site.id}`, { token: api.token });
    // What this process has not heard of yet it hears within two seconds.
    await expect.poll(async () => (await ask({ method: 'GET', path: '/websites/:websiteId' })).text).toBe('null');
    for (const route of ofWebsites) {
      const isRead = nameOf(route) === 'GET /websites/:websiteId';
      expect((await ask(route)).status, nameOf(route)).toBe(isRead ? 200 : 404);
    }
    const list = await other.request('/api/websites?pageSize=1000', {
      headers: { authorization: `Bearer ${api.token}` },
    });
    expect(await list.text()).not.toContain(site.id);
    await registry.close();
  });
});

test('what fails inside is told as an outage or a fault and nothing more, on every route', async () => {
  const [unmigrated, site] = [await createPostgresDatabase(), await api.siteWith([{ t: '10:00' }])];
  const nowhere = new URL(process.env.TEST_CLICKHOUSE_URL ?? '');
  nowhere.pathname = '/there_is_no_such_database';
  const registry = createRegistry(unmigrated.url);
  const warehouse = createWarehouse(nowhere.href);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  for (const broken of [
    { ...api.deps, registry },
    { ...api.deps, warehouse },
  ]) {
    const app = createQueryApp(broken);
    for (const route of routes().filter(({ path }) => !endsSession.test(path))) {
      const body = route.method === 'POST' ? JSON.stringify(bodyFor(route)) : null;
      const id = route.method === 'GET' ? site.id : await known('websiteId');
      const path = await address(route, { websiteId: id });
      const answer = await app.request(`/api${path}?type=${typeFor(route)}`, { method: route.method, headers, body });
      const text = await answer.text();
      expect([200, 400, 401, 403, 404, 500, 503], `${nameOf(route)} ${text}`).toContain(answer.status);
      expect(text, nameOf(route)).not.toMatch(insides);
      expect(answer.headers.get('x-content-type-options'), nameOf(route)).toBe('nosniff');
      expect(answer.headers.get('cache-control'), nameOf(route)).toBe('no-store');
    }
  }
  await Promise.all([registry.close(), warehouse.close()]);
  await unmigrated.drop();
}, 120_000);
