import { createRegistry, type Registry } from '@meridian/registry/registry';
import { testActor } from '@meridian/registry/registry-fixtures';
import { createTestSite } from '@meridian/warehouse/test-site';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueryApp } from '../create-query-app.ts';
import { createStatisticsApi } from '../statistics-fixtures.ts';

let api: Awaited<ReturnType<typeof createStatisticsApi>>;
let otherRegistry: Registry;
let other: ReturnType<typeof createQueryApp>;

beforeAll(async () => {
  api = await createStatisticsApi();
  otherRegistry = createRegistry(api.fixtures.url, { timeoutMs: 30_000 });
  other = createQueryApp({ ...api.deps, registry: otherRegistry });
});
afterAll(async () => {
  await otherRegistry.close();
  await api.close();
});

const questions = [
  '',
  '/stats',
  '/pageviews',
  '/events',
  '/active',
  '/metrics?type=path',
  '/segments?type=segment',
  '/shares',
];

/**
 * What the reader is told of the website by a process: its statuses, and whether any answer holds what was collected.
 */
async function seen(by: 'here' | 'there', token: string, websiteId: string) {
  const told = [];
  for (const question of questions) {
    const path = `/websites/${websiteId}${question}`;
    if (by === 'here') told.push(await api.call('GET', path, { token }));
    else {
      const answer = await other.request(`/api${path}`, { headers: { authorization: `Bearer ${token}` } });
      told.push({ status: answer.status, text: await answer.text() });
    }
  }
  return { statuses: told.map(({ status }) => status), shows: told.some(({ text }) => text.includes('secret')) };
}

const visible = { statuses: questions.map(() => 200), shows: true };
/** The website itself is null, with 200. */
const gone = { statuses: questions.map((question) => (question === '' ? 200 : 404)), shows: false };

async function newShop() {
  const [chief, reader] = [await api.newAccount(), await api.newAccount()];
  const [team] = await api.ok('POST', '/teams', { token: chief.token, body: { name: 'Team' } });
  await api.ok('POST', `/teams/${team.id}/users`, {
    token: chief.token,
    body: { userId: reader.id, role: 'team-manager' },
  });
  const body = { name: 'secret shop', domain: 'secret.example', teamId: team.id };
  const website = await api.ok('POST', '/websites', { token: chief.token, body });
  await createTestSite(api.deps.warehouse, website.id).insert([{ t: Date.now() - 60_000, urlPath: '/secret' }]);
  return { chief, reader, teamId: team.id as string, websiteId: website.id as string };
}
type Shop = Awaited<ReturnType<typeof newShop>>;

test.each<[string, (shop: Shop) => Promise<unknown>]>([
  ['a deleted website', ({ chief, websiteId }) => api.ok('DELETE', `/websites/${websiteId}`, { token: chief.token })],
  ['a deleted team', ({ chief, teamId }) => api.ok('DELETE', `/teams/${teamId}`, { token: chief.token })],
  [
    'a removed member',
    ({ chief, reader, teamId }) => api.ok('DELETE', `/teams/${teamId}/users/${reader.id}`, { token: chief.token }),
  ],
  [
    'a website given away',
    ({ chief, websiteId }) =>
      api.ok('POST', `/websites/${websiteId}/transfer`, { token: chief.token, body: { userId: chief.id } }),
  ],
])('%s is seen no more: at once by the process that changed it, soon by others', async (_name, change) => {
  const shop = await newShop();
  const { reader, websiteId } = shop;
  for (const by of ['here', 'there'] as const) expect(await seen(by, reader.token, websiteId)).toEqual(visible);
  await change(shop);
  expect(await seen('here', reader.token, websiteId)).toEqual(gone);
  await expect.poll(() => seen('there', reader.token, websiteId)).toEqual(gone);
  const { count } = await api.ok('GET', '/websites?includeTeams=1', { token: reader.token });
  expect(count).toBe(0);
});

test('an administrator sees nothing more of the website of a deleted team, or of a deleted account', async () => {
  const admin = await api.newAccount('admin');
  const shop = await newShop();
  const owner = await api.newAccount();
  const body = { name: 'secret shop', domain: 'secret.example' };
  const own = await api.ok('POST', '/websites', { token: owner.token, body });
  await seen('here', admin.token, shop.websiteId);
  await seen('here', admin.token, own.id);
  await api.ok('DELETE', `/teams/${shop.teamId}`, { token: admin.token });
  await api.ok('DELETE', `/users/${owner.id}`, { token: admin.token });
  for (const id of [shop.websiteId, own.id]) expect(await seen('here', admin.token, id)).toEqual(gone);
});

test('a session and a key of a deleted account end at once here, soon elsewhere', async () => {
  const user = await api.newAccount();
  const { key } = await api.ok('POST', '/me/api-keys', { token: user.token, body: { name: 'ci' } });
  const status = async (token: string) =>
    (await other.request('/api/me', { headers: { authorization: `Bearer ${token}` } })).status;
  for (const token of [user.token, key]) expect(await status(token)).toBe(200);
  await api.deps.registry.deleteUser(user.id, testActor);
  for (const token of [user.token, key]) {
    expect((await api.call('GET', '/me', { token })).status).toBe(401);
    await expect.poll(() => status(token)).toBe(401);
  }
});

test('no filter, however combined, brings in what another website collected', async () => {
  const [{ websiteId }, stranger] = [await newShop(), await api.newAccount()];
  const body = { name: 'own', domain: 'own.example' };
  const own = await api.ok('POST', '/websites', { token: stranger.token, body });
  await createTestSite(api.deps.warehouse, own.id).insert([{ t: Date.now() - 60_000, urlPath: '/own' }]);
  for (const query of [
    'match=any',
    'match=any&path=/secret',
    'match=any&path=c.e&title=ns.1&query=ns.1',
    'path=/secret&path=/own',
    'path=re..*',
    `segment=&cohort=&websiteId=${websiteId}`,
    `match=any&distinctId=ns.1&tag=${encodeURIComponent(`x' OR website_id = '${websiteId}`)}`,
  ])
    for (const question of [
      '/stats?',
      '/pageviews?',
      '/events?',
      '/metrics?type=path&',
      '/metrics/expanded?type=path&',
    ]) {
      const { status, json, text } = await api.call('GET', `/websites/${own.id}${question}${query}`, {
        token: stranger.token,
      });
      expect([status, text.includes('secret')], question + query).toEqual([200, false]);
      if (question === '/stats?') expect(json.pageviews).toBeLessThan(2);
    }
});
