import { randomUUID } from 'node:crypto';
import { ResolvedShare, ShareList, ShareRecord } from '@meridian/contract/shares';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApi } from '../query-fixtures.ts';
import { websiteCalls } from '../website-fixtures.ts';

type Api = Awaited<ReturnType<typeof createTestApi>>;
let api: Api;
let token: string;

const newStores = async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  return { postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' };
};

beforeAll(async () => {
  api = await createTestApi(await newStores());
  ({ token } = await api.newAccount());
});
afterAll(() => api.close());

const { newWebsite, read } = websiteCalls(() => ({ api, token }));
const newSlug = () => `s-${randomUUID()}`;
const newShare = async (websiteId: string, body: object = {}): Promise<ShareRecord> => {
  const share = await api.ok('POST', `/websites/${websiteId}/shares`, {
    token,
    body: { name: 'For the board', ...body },
  });
  expect(ShareRecord.parse(share)).toEqual(share);
  return share;
};

const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`);

describe('making a link', () => {
  test('of a website: with a random slug of 16 letters and digits that becomes its share id', async () => {
    const { id } = await newWebsite();
    const share = await newShare(id);
    expect(share).toEqual({
      id: expect.any(String),
      entityId: id,
      name: 'For the board',
      shareType: 1,
      slug: expect.stringMatching(/^[A-Za-z0-9]{16}$/),
      parameters: { overview: true, events: true },
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await read(id)).shareId).toBe(share.slug);
    expect((await newShare(id, { slug: null })).slug).not.toBe(share.slug);
  });

  test('by POST /share: with the slug and the parameters that are given', async () => {
    const { id } = await newWebsite();
    const [slug, parameters] = [newSlug(), { overview: true, events: false, theme: 'dark', deepest: nested(31) }];
    const body = { entityId: id, shareType: 1, name: 'x', parameters, slug };
    expect(await api.ok('POST', '/share', { token, body })).toMatchObject({ entityId: id, slug, parameters });
    expect((await read(id)).shareId).toBe(slug);
  });

  test('keys of parameters lose what cannot be stored, as texts do, at every depth and before they are checked', async () => {
    const { id } = await newWebsite();
    const share = await newShare(id, {
      parameters: { 'a\0b': 'c\0d', in: [{ '\ud800x': '\ud800' }], 'eve\0nts': false },
    });
    const parameters = { ab: 'cd', in: [{ '\ufffdx': '\ufffd' }], events: false };
    expect(share.parameters).toEqual(parameters);
    const changed = await api.ok('POST', `/share/id/${share.id}`, {
      token,
      body: { parameters: { '\0': { '\0': 1 } } },
    });
    expect(changed.parameters).toEqual({ '': { '': 1 } });
  });

  test('by the website’s share id', async () => {
    const shareId = newSlug();
    const { id } = await newWebsite({ shareId });
    const { data } = await api.ok('GET', `/websites/${id}/shares`, { token });
    expect(data).toMatchObject([{ entityId: id, slug: shareId, parameters: { overview: true, events: true } }]);
  });

  test.each([
    [{ shareType: 2 }, 'shareType: must be 1: only websites can be shared'],
    [{ shareType: '1' }, 'shareType'],
    [{ shareType: null }, 'shareType'],
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ name: null }, 'name'],
    [{ slug: 'a/b' }, 'slug'],
    [{ slug: '../x' }, 'slug'],
    [{ slug: 'x'.repeat(51) }, 'slug'],
    [{ slug: 7 }, 'slug'],
    [{ parameters: [] }, 'parameters'],
    [{ parameters: { events: 'false' } }, 'parameters.events'],
    [{ parameters: { 'eve\0nts': 'false' } }, 'parameters.events'],
    [{ parameters: { text: 'x'.repeat(10_000) } }, 'parameters'],
    [{ parameters: nested(33) }, 'parameters: must not be nested deeper than 32 levels'],
    [{ parameters: nested(1_500) }, 'parameters'],
    [{ entityId: null }, 'entityId'],
  ])('%# what is wrong is 400 and named', async (fault, named) => {
    const { id } = await newWebsite();
    const body = { entityId: id, shareType: 1, name: 'x', parameters: {}, slug: newSlug(), ...fault };
    const { status, json } = await api.call('POST', '/share', { token, body });
    expect([status, json.error.message]).toEqual([400, expect.stringContaining(named)]);
    expect((await read(id)).shareId).toBeNull();
  });

  test('a slug that another link or website has is 400, to whoever asks', async () => {
    const [website, other] = [await newWebsite(), await newWebsite({ shareId: newSlug() })];
    const share = await newShare(website.id);
    for (const slug of [share.slug, other.shareId]) {
      const made = await api.call('POST', `/websites/${website.id}/shares`, { token, body: { name: 'x', slug } });
      expect([made.status, made.json.error.properties]).toEqual([
        400,
        { slug: { errors: ['That share ID is already taken.'] } },
      ]);
    }
    const changed = await api.call('POST', `/share/id/${share.id}`, { token, body: { slug: other.shareId } });
    const set = await api.call('POST', `/websites/${other.id}`, { token, body: { shareId: share.slug } });
    expect([changed.status, set.status]).toEqual([400, 400]);
  });
});

test('a link is read, listed newest first, changed and ended', async () => {
  const { id } = await newWebsite();
  const [first, second] = [await newShare(id, { name: 'One' }), await newShare(id, { name: 'Two' })];
  const list = await api.ok('GET', `/websites/${id}/shares`, { token });
  expect(ShareList.parse(list)).toEqual(list);
  expect(list).toEqual({ data: [second, first], count: 2, page: 1, pageSize: 20, orderBy: 'createdAt', search: '' });
  expect((await api.ok('GET', `/websites/${id}/shares?search=ONE&pageSize=1`, { token })).data).toEqual([first]);
  expect(await api.ok('GET', `/share/id/${first.id}`, { token })).toEqual(first);

  const slug = newSlug();
  const renamed = await api.ok('POST', `/share/id/${second.id}`, { token, body: { name: 'New', shareType: 4 } });
  expect(renamed).toEqual({ ...second, name: 'New', updatedAt: expect.any(String) });
  const body = { name: 'New', slug, parameters: { events: false } };
  expect(await api.ok('POST', `/share/id/${second.id}`, { token, body })).toMatchObject({ id: second.id, ...body });
  expect((await read(id)).shareId).toBe(slug);
  for (const [ended, left] of [
    [second, first.slug],
    [first, null],
  ] as const) {
    expect(await api.ok('DELETE', `/share/id/${ended.id}`, { token })).toEqual({ ok: true });
    expect((await read(id)).shareId).toBe(left);
    for (const [method, body] of [['GET'], ['POST', {}], ['DELETE']] as const)
      expect((await api.call(method, `/share/id/${ended.id}`, { token, body })).status).toBe(404);
  }
});

describe('permissions', () => {
  const calls = (websiteId: string, shareId: string) =>
    [
      ['GET', `/websites/${websiteId}/shares`, undefined],
      ['GET', `/share/id/${shareId}`, undefined],
      ['POST', `/websites/${websiteId}/shares`, { name: 'x' }],
      ['POST', '/share', { entityId: websiteId, shareType: 1, name: 'x', parameters: {} }],
      ['POST', `/share/id/${shareId}`, { name: 'x' }],
      ['DELETE', `/share/id/${shareId}`, undefined],
    ] as const;
  const statusesOf = async (as: string | undefined, websiteId: string, shareId: string) => {
    const answers = [];
    for (const [method, path, body] of calls(websiteId, shareId))
      answers.push(await api.call(method, path, { token: as, ...(body && { body }) }));
    return answers.map(({ status }) => status);
  };

  test('links of a foreign website are 404, as those of none; without a credential all is 401', async () => {
    const stranger = (await api.newAccount()).token;
    const { id } = await newWebsite();
    const share = await newShare(id);
    const { key } = await api.ok('POST', '/me/api-keys', { token: stranger, body: { name: 'ci' } });
    for (const as of [stranger, key]) {
      for (const [method, path, body] of calls(id, share.id)) {
        const unknown = path.replace(id, randomUUID()).replace(share.id, randomUUID());
        const answers = [
          await api.call(method, path, { token: as, ...(body && { body }) }),
          await api.call(method, unknown, {
            token: as,
            ...(body && { body: 'entityId' in body ? { ...body, entityId: 'none' } : body }),
          }),
        ];
        expect(answers.map(({ status }) => status)).toEqual([404, 404]);
        expect(answers[0]?.text).toBe(answers[1]?.text);
      }
    }
    expect(new Set(await statusesOf(undefined, id, share.id))).toEqual(new Set([401]));
    expect(await api.ok('GET', `/share/id/${share.id}`, { token })).toEqual(share);
    expect((await api.ok('GET', `/websites/${id}/shares`, { token })).count).toBe(1);
  });

  test('of a team’s website: who may update it makes and ends links, who may read it sees them', async () => {
    const [manager, viewer] = [await api.newAccount(), await api.newAccount()];
    const teamId = await api.fixtures.newTeam([
      [manager, 'team-manager'],
      [viewer, 'team-view-only'],
    ]);
    const { id } = await newWebsite({ teamId }, manager.token);
    const share = await api.ok('POST', `/websites/${id}/shares`, { token: manager.token, body: { name: 'x' } });
    expect(await statusesOf(viewer.token, id, share.id)).toEqual([200, 200, 403, 403, 403, 403]);
    expect(await statusesOf(manager.token, id, share.id)).toEqual([200, 200, 200, 200, 200, 200]);
  });
});

describe('GET /share/{slug}', () => {
  test('tells anybody what the link leads to, and nothing of the account', async () => {
    const { id } = await newWebsite();
    const share = await newShare(id, { parameters: { events: false } });
    const resolved = await api.ok('GET', `/share/${share.slug}`);
    expect(ResolvedShare.parse(resolved)).toEqual(resolved);
    expect(resolved).toEqual({
      shareId: share.id,
      shareType: 1,
      parameters: { events: false },
      websiteId: id,
      token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    });
  });

  test('is 404 for an unknown and an ended one, in other letters, and for what is no slug', async () => {
    const { id } = await newWebsite({ shareId: `Ended-${randomUUID()}` });
    const { shareId: ended } = await read(id);
    expect((await api.call('GET', `/share/${ended.toLowerCase()}`)).status).toBe(404);
    expect((await api.call('GET', `/share/${ended}%00`)).status).toBe(404);
    await api.ok('POST', `/websites/${id}`, { token, body: { shareId: null } });
    const answers = [];
    for (const slug of [ended, newSlug(), '%00', "'%20OR%201=1", 'x'.repeat(500), '%ff'])
      answers.push(await api.call('GET', `/share/${slug}`));
    for (const { status, text } of answers) expect([status, text]).toEqual([404, answers[0]?.text]);
  });

  test('answers on cloud as well, and only for websites of the region', async () => {
    const stores = await newStores();
    const cloud = await createTestApi(stores, { mode: 'cloud' });
    const owner = await cloud.fixtures.newUser();
    const [here, elsewhere] = [newSlug(), newSlug()];
    const { id } = await cloud.fixtures.newWebsite(owner, { shareId: here });
    await cloud.fixtures.newWebsite(owner, { shareId: elsewhere, region: 'eu' });
    const { token: link } = await cloud.ok('GET', `/share/${here}`);
    const headers = { 'x-umami-share-token': link };
    expect(await cloud.ok('GET', `/websites/${id}`, { headers })).toMatchObject({ id });
    expect((await cloud.call('GET', `/share/${elsewhere}`)).status).toBe(404);
    await cloud.close();
  });
});
