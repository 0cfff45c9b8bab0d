import { randomUUID } from 'node:crypto';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApi } from '../query-fixtures.ts';
import { websiteCalls } from '../website-fixtures.ts';

let api: Awaited<ReturnType<typeof createTestApi>>;
let token: string;

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
  ({ token } = await api.newAccount());
});
afterAll(() => api.close());

const { create, newWebsite, update, read } = websiteCalls(() => ({ api, token }));

describe('creating', () => {
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
    await expect.poll(() => read(theirs.id, viewer.token)).toBeNull();
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
