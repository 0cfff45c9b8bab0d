import { randomUUID } from 'node:crypto';
import { WebsiteList, WebsiteRecord } from '@meridian/contract/websites';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApi } from '../query-fixtures.ts';

let api: Awaited<ReturnType<typeof createTestApi>>;
let token: string;
let userId: string;

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
  ({ token, id: userId } = await api.newAccount());
});
afterAll(() => api.close());

const create = (body: object, as = token) =>
  api.call('POST', '/websites', { token: as, body: { name: 'Shop', domain: 'shop.example', ...body } });
const newWebsite = async (body: object = {}, as = token) => {
  const answer = await create(body, as);
  expect(answer.status, answer.text).toBe(200);
  return answer.json as WebsiteRecord;
};
const update = (id: string, body: unknown, as = token) => api.call('POST', `/websites/${id}`, { token: as, body });
const read = (id: string, as = token) => api.ok('GET', `/websites/${id}`, { token: as });

describe('creating', () => {
  test('answers the whole website with its defaults, and reading answers the same', async () => {
    const website = await newWebsite({ domain: 'https://shop.example/' });
    expect(WebsiteRecord.strict().parse(website)).toMatchObject({
      domain: 'shop.example',
      shareId: null,
      teamId: null,
      userId,
      createdBy: userId,
      recorderEnabled: false,
      user: { id: userId },
    });
    expect(await read(website.id)).toEqual(website);
  });

  test('a failed validation names the fields', async () => {
    const answer = await api.call('POST', '/websites', { token, body: {} });
    expect([answer.status, Object.keys(answer.json.error.properties)]).toEqual([400, ['name', 'domain']]);
  });

  test('names are stored as they are, without NUL', async () => {
    for (const name of ['Магазин 購物 😀', '<script>alert(1)</script>', '=1+1', "'; DROP TABLE website; --"])
      expect((await newWebsite({ name: `${name}\0` })).name).toBe(name);
    expect((await create({ name: '\0' })).status).toBe(400);
  });

  test('an id in use, own, foreign or deleted, is 400 and changes nothing', async () => {
    const [mine, theirs, gone] = [
      await newWebsite(),
      await newWebsite({}, (await api.newAccount()).token),
      await newWebsite(),
    ];
    await api.ok('DELETE', `/websites/${gone.id}`, { token });
    for (const { id } of [mine, theirs, gone]) {
      const answer = await create({ id: id.toUpperCase() });
      expect([answer.status, answer.json.error.message]).toEqual([400, 'Website ID already in use.']);
    }
    expect(await read(mine.id)).toEqual(mine);
  });

  test('of 50 parallel creates with one id, and with one share id, one wins', async () => {
    for (const body of [{ id: randomUUID() }, { shareId: randomUUID() }]) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => create(body)));
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
      expect(answers.filter((answer) => answer.status === 400)).toHaveLength(49);
    }
  });

  test('in a team: owner, manager and member may, others get 403, the same for a team that does not exist', async () => {
    const [owner, manager, member, viewer, stranger, admin] = [
      await api.newAccount(),
      await api.newAccount(),
      await api.newAccount(),
      await api.newAccount(),
      await api.newAccount(),
      await api.newAccount('admin'),
    ];
    const teamId = await api.fixtures.newTeam([
      [owner, 'team-owner'],
      [manager, 'team-manager'],
      [member, 'team-member'],
      [viewer, 'team-view-only'],
    ]);
    for (const account of [owner, manager, member, admin])
      expect(await newWebsite({ teamId }, account.token)).toMatchObject({
        teamId,
        userId: null,
        createdBy: account.id,
        user: { id: account.id },
      });
    const refused = [
      await create({ teamId }, viewer.token),
      await create({ teamId }, stranger.token),
      await create({ teamId: randomUUID() }, stranger.token),
      await create({ teamId: 'x' }, stranger.token),
      await create({ teamId: randomUUID() }, admin.token),
      await create({ teamId: 'x' }, admin.token),
    ];
    expect(refused.map((answer) => answer.status)).toEqual([403, 403, 403, 403, 403, 403]);
    expect(new Set(refused.map((answer) => answer.text)).size).toBe(1);
  });

  test('a view-only account may not', async () => {
    expect((await create({}, (await api.newAccount('view-only')).token)).status).toBe(403);
  });
});

describe('updating', () => {
  test('changes only what is given, and updatedAt', async () => {
    const website = await newWebsite({ shareId: randomUUID() });
    const { status, json } = await update(website.id, { name: 'Renamed' });
    expect([status, json]).toEqual([200, { ...website, name: 'Renamed', updatedAt: expect.any(String) }]);
    expect(json.updatedAt).not.toBe(website.updatedAt);
    expect(await read(website.id)).toEqual(json);
  });

  test('no other field can be set, and no id in the body overrides the path', async () => {
    const [website, other] = [await newWebsite(), await newWebsite()];
    const forged = {
      id: other.id,
      websiteId: other.id,
      userId: randomUUID(),
      teamId: randomUUID(),
      createdBy: randomUUID(),
      createdAt: '2001-01-01T00:00:00Z',
      deletedAt: '2001-01-01T00:00:00Z',
      resetAt: '2001-01-01T00:00:00Z',
      recorderEnabled: true,
      name: 'mine',
    };
    const { json } = await update(website.id, forged);
    expect({ ...json, updatedAt: '' }).toEqual({ ...website, name: 'mine', updatedAt: '' });
    expect(await read(other.id)).toEqual(other);
  });

  test('a bad value, and a taken share id, change nothing', async () => {
    const shareId = randomUUID();
    await newWebsite({ shareId }, (await api.newAccount()).token);
    const website = await newWebsite();
    for (const body of [
      { name: '' },
      { name: null },
      { domain: 'a b' },
      { name: 'ok', shareId: '../x' },
      { name: 'ok', replayConfig: { sampleRate: 2 } },
      { name: 'ok', shareId },
      [],
      'x',
    ])
      expect((await update(website.id, body)).status).toBe(400);
    expect((await update(website.id, { shareId })).json.error.message).toBe('That share ID is already taken.');
    expect(await read(website.id)).toEqual(website);
  });

  test('replayConfig is merged, null resets it, and recorderEnabled follows', async () => {
    const website = await newWebsite();
    await update(website.id, { replayConfig: { sampleRate: 0.5, heatmapEnabled: true } });
    const merged = (await update(website.id, { replayConfig: { maskLevel: 'none' } })).json;
    expect(merged.replayConfig).toEqual({
      ...website.replayConfig,
      sampleRate: 0.5,
      heatmapEnabled: true,
      maskLevel: 'none',
    });
    expect(merged.recorderEnabled).toBe(true);
    const reset = (await update(website.id, { replayConfig: null })).json;
    expect([reset.replayConfig, reset.recorderEnabled]).toEqual([website.replayConfig, false]);
  });
});

describe('deleting', () => {
  test('answers ok; then the website reads as null, is in no list and cannot be deleted again', async () => {
    const account = await api.newAccount();
    const { id } = await newWebsite({}, account.token);
    expect(await api.ok('DELETE', `/websites/${id}`, { token: account.token })).toEqual({ ok: true });
    expect(await read(id, account.token)).toBeNull();
    expect((await api.ok('GET', '/websites', { token: account.token })).count).toBe(0);
    expect((await api.call('DELETE', `/websites/${id}`, { token: account.token })).status).toBe(404);
    expect(await api.deps.registry.listUnpurgedWebsites('us')).toContain(id);
  });

  test('of 10 parallel deletes one is answered with ok', async () => {
    const { id } = await newWebsite();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => api.call('DELETE', `/websites/${id}`, { token })),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 404)).toHaveLength(9);
  });
});

test('a reset sets resetAt and keeps the website', async () => {
  const website = await newWebsite();
  expect(await api.ok('POST', `/websites/${website.id}/reset`, { token })).toEqual({ ok: true });
  const reset = await read(website.id);
  expect(reset).toEqual({ ...website, resetAt: expect.any(String) });
});

describe('a foreign website', () => {
  test('reads as null and answers 404 to everything else, exactly as an unknown and a malformed id', async () => {
    const theirs = await newWebsite({}, (await api.newAccount()).token);
    const { key } = await api.ok('POST', '/me/api-keys', { token, body: { name: 'ci' } });
    for (const as of [token, key]) {
      for (const id of [theirs.id, randomUUID(), 'not-a-uuid']) expect(await read(id, as)).toBeNull();
      for (const [method, path] of [
        ['POST', ''],
        ['DELETE', ''],
        ['POST', '/reset'],
      ] as const) {
        const answers = [];
        for (const id of [theirs.id, randomUUID(), 'not-a-uuid'])
          answers.push(await api.call(method, `/websites/${id}${path}`, { token: as, raw: '{bad' }));
        expect(answers.map((answer) => answer.status)).toEqual([404, 404, 404]);
        expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
      }
    }
  });

  test('is in no list and no search', async () => {
    const domain = `${randomUUID()}.example`;
    await newWebsite({ domain }, (await api.newAccount()).token);
    for (const query of [`search=${domain}`, `search=${domain}&includeTeams=1`])
      expect((await api.ok('GET', `/websites?${query}`, { token })).count).toBe(0);
  });

  test('is readable and changeable for the administrator, who lists only own ones', async () => {
    const admin = await api.newAccount('admin');
    const { id } = await newWebsite();
    expect((await read(id, admin.token)).id).toBe(id);
    expect((await update(id, { name: 'by admin' }, admin.token)).json.name).toBe('by admin');
    expect((await api.ok('GET', '/websites', { token: admin.token })).count).toBe(0);
  });

  test('of another region is unknown, also to its owner', async () => {
    const owner = await api.newAccount();
    const user = await api.deps.registry.findUserById(owner.id);
    if (!user) throw new Error('no owner');
    const { id } = await api.fixtures.newWebsite(user, { region: 'eu' });
    expect(await read(id, owner.token)).toBeNull();
    expect((await update(id, { name: 'x' }, owner.token)).status).toBe(404);
    expect((await api.ok('GET', '/websites', { token: owner.token })).count).toBe(0);
  });
});

describe('a team website', () => {
  test('is read by every member, updated by its maker, deleted by owner and manager; who left sees nothing', async () => {
    const [owner, manager, maker, viewer] = [
      await api.newAccount(),
      await api.newAccount(),
      await api.newAccount(),
      await api.newAccount(),
    ];
    const teamId = await api.fixtures.newTeam([
      [owner, 'team-owner'],
      [manager, 'team-manager'],
      [maker, 'team-member'],
      [viewer, 'team-view-only'],
    ]);
    const [theirs, made] = [await newWebsite({ teamId }, owner.token), await newWebsite({ teamId }, maker.token)];
    for (const { token: as } of [owner, manager, maker, viewer]) expect((await read(theirs.id, as)).id).toBe(theirs.id);
    const updating = async (as: string, id: string) => (await update(id, { name: 'x' }, as)).status;
    expect(await updating(maker.token, made.id)).toBe(200);
    expect(await updating(maker.token, theirs.id)).toBe(403);
    expect(await updating(viewer.token, theirs.id)).toBe(403);
    const removing = async (as: string, id: string) =>
      (await api.call('DELETE', `/websites/${id}`, { token: as })).status;
    expect(await removing(maker.token, made.id)).toBe(403);
    expect(await removing(viewer.token, made.id)).toBe(403);
    await api.fixtures.sql('DELETE FROM team_user WHERE user_id = $1', [viewer.id]);
    expect(await read(theirs.id, viewer.token)).toBeNull();
    expect(await removing(manager.token, made.id)).toBe(200);
    expect(await removing(owner.token, theirs.id)).toBe(200);
  });

  test('is listed with includeTeams for owner and manager only', async () => {
    const [owner, manager, member] = [await api.newAccount(), await api.newAccount(), await api.newAccount()];
    const teamId = await api.fixtures.newTeam([
      [owner, 'team-owner'],
      [manager, 'team-manager'],
      [member, 'team-member'],
    ]);
    await newWebsite({ teamId }, owner.token);
    const sees = async (as: string, query = '') => (await api.ok('GET', `/websites${query}`, { token: as })).count;
    expect(await sees(owner.token)).toBe(0);
    const tokens = [owner, manager, member].map((account) => account.token);
    for (const query of ['?includeTeams=true', '?includeTeams=0'])
      expect(await Promise.all(tokens.map((as) => sees(as, query)))).toEqual([1, 1, 0]);
  });
});

test('a list answers what was applied, in the shape of the contract, under both addresses', async () => {
  const account = await api.newAccount();
  for (const name of ['b', 'a', 'c']) await newWebsite({ name }, account.token);
  const query = '?orderBy=createdAt&sortDescending=true&pageSize=2&maxResults=3&search=SHOP';
  for (const path of ['/websites', '/me/websites']) {
    const list = await api.ok('GET', path + query, { token: account.token });
    expect(WebsiteList.parse(list)).toEqual(list);
    expect(list).toMatchObject({ count: 3, page: 1, pageSize: 2, orderBy: 'createdAt', search: 'SHOP' });
    expect(list.data.map((website: WebsiteRecord) => website.name)).toEqual(['c', 'a']);
  }
  for (const bad of ['page=0', 'pageSize=1.5', 'orderBy=password', 'orderBy=__proto__', 'maxResults=-1'])
    expect((await api.call('GET', `/websites?${bad}`, { token: account.token })).status, bad).toBe(400);
});
