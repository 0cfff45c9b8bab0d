import { randomUUID } from 'node:crypto';
import { CreatedTeam, TeamList, TeamMemberList, TeamMemberRecord, TeamRecord } from '@meridian/contract/teams';
import { WebsiteList } from '@meridian/contract/websites';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createTestApi } from '../query-fixtures.ts';
import { websiteCalls } from '../website-fixtures.ts';

let api: Awaited<ReturnType<typeof createTestApi>>;
type Account = Awaited<ReturnType<typeof api.newAccount>>;
let chief: Account;

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
  chief = await api.newAccount();
});
afterAll(() => api.close());

const { newWebsite, create, read } = websiteCalls(() => ({ api, token: chief.token }));
const Team = z.strictObject(TeamRecord.shape);
const Member = z.strictObject(TeamMemberRecord.shape);

const as = (account: Account, method: string, path: string, body?: unknown) =>
  api.call(method, path, { token: account.token, body });
/** A team of the chief, or of another account. */
async function newTeam(owner = chief, name = 'Team'): Promise<TeamRecord & { accessCode: string }> {
  const [team] = await api.ok('POST', '/teams', { token: owner.token, body: { name } });
  return team;
}
async function newMember(teamId: string, role: string, account?: Account): Promise<Account> {
  const member = account ?? (await api.newAccount());
  const added = await as(chief, 'POST', `/teams/${teamId}/users`, { userId: member.id, role });
  expect(added.status, added.text).toBe(200);
  return member;
}
const roleOf = async (teamId: string, { id }: Account) =>
  (await as(chief, 'GET', `/teams/${teamId}/users/${id}`)).json.role;

describe('a team', () => {
  test('is answered with the membership of its owner, and reads the same afterwards', async () => {
    const created = await as(chief, 'POST', '/teams', { name: ' Alpha\0 ', websiteId: 'ignored' });
    const [team, owner] = CreatedTeam.parse(created.json);
    expect(Team.parse(team)).toMatchObject({ name: 'Alpha', logoUrl: null, deletedAt: null });
    expect(team.accessCode).toMatch(/^team_[A-Za-z0-9]{32}$/);
    expect(Member.parse(owner)).toMatchObject({ teamId: team.id, userId: chief.id, role: 'team-owner' });
    expect((await as(chief, 'GET', `/teams/${team.id}`)).json).toEqual(team);
    expect((await as(chief, 'GET', `/teams/${team.id.toUpperCase()}`)).json).toEqual(team);
    expect((await as(chief, 'GET', `/teams/${team.id}/users/${chief.id}`)).json).toEqual(owner);
    const { teams } = await api.ok('POST', '/auth/verify', { token: chief.token });
    expect(teams).toContainEqual({ id: team.id, name: 'Alpha', logoUrl: null });
  });

  test.each([
    {},
    { name: '' },
    { name: ' ' },
    { name: '\0' },
    { name: 'x'.repeat(101) },
    { name: 5 },
    { name: null },
    [],
  ])('is not made of %j', async (body) => {
    expect((await as(chief, 'POST', '/teams', body)).status).toBe(400);
  });

  test('made by an administrator may belong to another account', async () => {
    const [admin, owner] = [await api.newAccount('admin'), await api.newAccount()];
    const [team, member] = (await as(admin, 'POST', '/teams', { name: 'x', ownerId: owner.id.toUpperCase() })).json;
    expect(member).toMatchObject({ userId: owner.id, role: 'team-owner' });
    expect((await as(admin, 'GET', '/teams')).json.count).toBe(0);
    expect((await as(owner, 'GET', `/teams/${team.id}`)).json).toEqual(team);
  });

  test('is renamed and gets a new access code, a made or a chosen one; the code before lets nobody in', async () => {
    const [team, other] = [await newTeam(), await newTeam()];
    const update = (body: object) => as(chief, 'POST', `/teams/${team.id}`, body);
    const renamed = (await update({ name: 'Beta', id: other.id, teamId: other.id, logoUrl: 'x' })).json;
    expect(renamed).toEqual({ ...team, name: 'Beta', updatedAt: expect.any(String) });
    for (const accessCode of [null, '']) {
      const before = (await as(chief, 'GET', `/teams/${team.id}`)).json.accessCode;
      const after = (await update({ accessCode })).json.accessCode;
      expect(after).toMatch(/^team_[A-Za-z0-9]{32}$/);
      const refused = await as(await api.newAccount(), 'POST', '/teams/join', { accessCode: before });
      expect([after === before, refused.status]).toEqual([false, 404]);
    }
    expect((await update({ accessCode: 'team_chosen-by-client_1' })).json.accessCode).toBe('team_chosen-by-client_1');
    for (const accessCode of ['short', 'x'.repeat(51), 'with spaces in it ...', 5])
      expect((await update({ accessCode })).status).toBe(400);
    const taken = await update({ name: 'Gamma', accessCode: other.accessCode });
    expect([taken.status, Object.keys(taken.json.error.properties)]).toEqual([400, ['accessCode']]);
    expect((await as(chief, 'GET', `/teams/${team.id}`)).json).toMatchObject({ name: 'Beta' });
  });

  test('shows its access code to who may change it, and to nobody else', async () => {
    const team = await newTeam();
    const codes = async (account: Account) => {
      const { accessCode } = (await as(account, 'GET', `/teams/${team.id}`)).json;
      const lists = await Promise.all(['/teams', '/me/teams'].map((path) => as(account, 'GET', path)));
      for (const { json } of lists) expect(json.data).toMatchObject([{ id: team.id, accessCode }]);
      return accessCode;
    };
    expect(await codes(await newMember(team.id, 'team-manager'))).toBe(team.accessCode);
    for (const role of ['team-member', 'team-view-only'])
      expect(await codes(await newMember(team.id, role))).toBeNull();
    expect(await codes(await newMember(team.id, 'team-owner', await api.newAccount('view-only')))).toBeNull();
  });

  test('that is deleted takes its websites with it, whose purge is ordered, and is gone for its members at once', async () => {
    const team = await newTeam();
    const member = await newMember(team.id, 'team-manager');
    const [mine, ours] = [await newWebsite({}, member.token), await newWebsite({ teamId: team.id }, member.token)];
    expect((await read(ours.id, member.token)).id).toBe(ours.id);
    expect((await as(chief, 'DELETE', `/teams/${team.id}`)).json).toEqual({ ok: true });
    for (const account of [member, chief]) {
      expect(await read(ours.id, account.token)).toBeNull();
      for (const path of [`/teams/${team.id}`, `/teams/${team.id}/users`, `/teams/${team.id}/websites`])
        expect((await as(account, 'GET', path)).status).toBe(404);
      expect((await create({ teamId: team.id }, account.token)).status).toBe(403);
    }
    expect((await as(member, 'GET', '/websites?includeTeams=1')).json.data).toMatchObject([{ id: mine.id }]);
    expect((await as(await api.newAccount(), 'POST', '/teams/join', { accessCode: team.accessCode })).status).toBe(404);
    expect((await as(chief, 'DELETE', `/teams/${team.id}`)).status).toBe(404);
    expect(await api.deps.registry.listUnpurgedWebsites('us')).toContain(ours.id);
    expect(await api.deps.redis.keys(`*purge-${ours.id}`)).toHaveLength(1);
    expect((await create({ id: ours.id })).json.error.message).toBe('Website ID already in use.');
  });
});

describe('joining', () => {
  test('by access code makes a member, whose answer is the same when it joins again', async () => {
    const team = await newTeam();
    const website = await newWebsite({ teamId: team.id });
    const joiner = await api.newAccount();
    expect(await read(website.id, joiner.token)).toBeNull();
    const join = () => as(joiner, 'POST', '/teams/join', { accessCode: team.accessCode });
    const joined = await join();
    expect(Member.parse(joined.json)).toMatchObject({ teamId: team.id, userId: joiner.id, role: 'team-member' });
    expect((await read(website.id, joiner.token)).id).toBe(website.id);
    expect((await join()).json).toEqual(joined.json);
    await as(chief, 'POST', `/teams/${team.id}/users/${joiner.id}`, { role: 'team-view-only' });
    expect((await join()).json).toMatchObject({ role: 'team-view-only' });
  });

  test('by a code that no team has is 404 team-not-found; without one it is 400', async () => {
    const joiner = await api.newAccount();
    for (const accessCode of ['team_nonsense', '%', "' OR 1=1 --", (await newTeam()).accessCode.toLowerCase()]) {
      const refused = await as(joiner, 'POST', '/teams/join', { accessCode });
      expect([refused.status, refused.json.error.code]).toEqual([404, 'team-not-found']);
    }
    for (const body of [
      {},
      { accessCode: '' },
      { accessCode: null },
      { accessCode: 1 },
      { accessCode: 'x'.repeat(51) },
    ])
      expect((await as(joiner, 'POST', '/teams/join', body)).status).toBe(400);
  });
});

describe('members', () => {
  test('are added with a role, listed by name, and told apart from who is none', async () => {
    const team = await newTeam();
    const [user, stranger] = [await api.newAccount(), await api.newAccount()];
    const path = `/teams/${team.id}/users`;
    const added = await as(chief, 'POST', path, { userId: user.id, role: 'team-manager', teamId: randomUUID() });
    expect(Member.parse(added.json)).toMatchObject({
      teamId: team.id,
      role: 'team-manager',
      user: { id: user.id, username: user.username },
    });
    const list = (await as(user, 'GET', path)).json;
    expect(TeamMemberList.parse(list)).toEqual(list);
    expect(list).toMatchObject({ count: 2, page: 1, pageSize: 20, orderBy: 'username', search: '' });
    expect((await as(user, 'GET', `${path}?search=${user.username.toUpperCase()}`)).json.data).toEqual([added.json]);
    for (const id of [stranger.id, randomUUID(), 'x'])
      for (const [method, body] of [['GET'], ['POST', { role: 'team-member' }], ['DELETE']] as const)
        expect((await as(chief, method, `${path}/${id}`, body)).status).toBe(404);
    for (const body of [
      { userId: user.id, role: 'team-member' },
      { userId: randomUUID(), role: 'team-member' },
      { userId: 'x', role: 'team-member' },
      { userId: stranger.id, role: 'admin' },
      { userId: stranger.id },
      { role: 'team-member' },
      {},
    ])
      expect((await as(chief, 'POST', path, body)).status, JSON.stringify(body)).toBe(400);
    expect((await as(chief, 'POST', `${path}/${user.id}`, { role: 'owner' })).status).toBe(400);
    expect(await roleOf(team.id, user)).toBe('team-manager');
  });

  test('count with the next request: who is removed sees nothing more, another role is another right', async () => {
    const team = await newTeam();
    const website = await newWebsite({ teamId: team.id });
    const member = await newMember(team.id, 'team-member');
    const rename = async () => (await as(member, 'POST', `/websites/${website.id}`, { name: 'x' })).status;
    expect(await rename()).toBe(403);
    const path = `/teams/${team.id}/users/${member.id}`;
    expect((await as(chief, 'POST', path, { role: 'team-manager' })).json.role).toBe('team-manager');
    expect(await rename()).toBe(200);
    expect((await as(chief, 'DELETE', path)).json).toEqual({ ok: true });
    expect(await rename()).toBe(404);
    expect(await read(website.id, member.token)).toBeNull();
    expect((await as(member, 'GET', `/teams/${team.id}`)).status).toBe(404);
    expect((await as(member, 'GET', '/teams')).json.count).toBe(0);
  });

  test('leave by themselves, whatever their role; a view-only account changes nothing, not even that', async () => {
    const team = await newTeam();
    for (const role of ['team-owner', 'team-manager', 'team-member', 'team-view-only']) {
      const member = await newMember(team.id, role);
      const path = `/teams/${team.id}/users/${member.id.toUpperCase()}`;
      expect((await as(member, 'DELETE', path)).status, role).toBe(200);
      expect((await as(member, 'GET', `/teams/${team.id}`)).status).toBe(404);
    }
    const viewOnly = await newMember(team.id, 'team-owner', await api.newAccount('view-only'));
    expect((await as(viewOnly, 'DELETE', `/teams/${team.id}/users/${viewOnly.id}`)).status).toBe(403);
  });

  test('that are the last owner of a team stay: 400, also for themselves and for an administrator', async () => {
    const [team, admin] = [await newTeam(), await api.newAccount('admin')];
    const path = `/teams/${team.id}/users/${chief.id}`;
    for (const account of [chief, admin])
      for (const refused of [
        await as(account, 'DELETE', path),
        await as(account, 'POST', path, { role: 'team-member' }),
      ])
        expect([refused.status, refused.json.error.code]).toEqual([400, 'bad-request']);
    const second = await newMember(team.id, 'team-owner');
    expect((await as(chief, 'POST', path, { role: 'team-member' })).status).toBe(200);
    expect((await as(chief, 'DELETE', `/teams/${team.id}/users/${second.id}`)).status).toBe(403);
    expect((await as(second, 'DELETE', path)).status).toBe(200);
  });

  test('a manager makes, changes and removes all but owners', async () => {
    const team = await newTeam();
    const [manager, member, newcomer] = [
      await newMember(team.id, 'team-manager'),
      await newMember(team.id, 'team-member'),
      await api.newAccount(),
    ];
    const path = `/teams/${team.id}/users`;
    const status = async (method: string, to: string, body?: object) => (await as(manager, method, to, body)).status;
    const second = await newMember(team.id, 'team-owner');
    expect(await status('POST', path, { userId: newcomer.id, role: 'team-owner' })).toBe(403);
    expect(await status('POST', `${path}/${member.id}`, { role: 'team-owner' })).toBe(403);
    expect(await status('POST', `${path}/${manager.id}`, { role: 'team-owner' })).toBe(403);
    for (const owner of [chief, second]) {
      expect(await status('POST', `${path}/${owner.id}`, { role: 'team-member' })).toBe(403);
      expect(await status('DELETE', `${path}/${owner.id}`)).toBe(403);
    }
    expect(await status('DELETE', `/teams/${team.id}`)).toBe(403);
    expect(await status('POST', path, { userId: newcomer.id, role: 'team-view-only' })).toBe(200);
    expect(await status('POST', `${path}/${newcomer.id}`, { role: 'team-manager' })).toBe(200);
    expect(await status('DELETE', `${path}/${newcomer.id}`)).toBe(200);
    expect(await status('POST', `${path}/${manager.id}`, { role: 'team-view-only' })).toBe(200);
  });
});

describe('lists', () => {
  test('of teams answer what was applied, own ones only, under both addresses', async () => {
    const account = await api.newAccount();
    for (const name of ['b', 'a', 'c', 'd 100%']) await newTeam(account, name);
    const list = async (path: string) => (await as(account, 'GET', path)).json;
    for (const path of ['/teams', '/me/teams']) {
      const page = await list(`${path}?orderBy=createdAt&sortDescending=true&pageSize=2&maxResults=3`);
      expect(TeamList.parse(page)).toEqual(page);
      expect(page).toMatchObject({ count: 3, page: 1, pageSize: 2, orderBy: 'createdAt', search: '' });
      expect(page.data.map(({ name }: TeamRecord) => name)).toEqual(['d 100%', 'c']);
      expect((await list(`${path}?search=%25`)).data).toMatchObject([{ name: 'd 100%' }]);
      for (const bad of ['page=0', 'pageSize=x', 'orderBy=accessCode', 'orderBy=domain', 'sortDescending=1'])
        expect((await as(account, 'GET', `${path}?${bad}`)).status, bad).toBe(400);
    }
  });

  test('of a team’s websites are for every member, and for nobody else', async () => {
    const team = await newTeam();
    const viewer = await newMember(team.id, 'team-view-only');
    const website = await newWebsite({ teamId: team.id });
    await newWebsite();
    const list = (await as(viewer, 'GET', `/teams/${team.id}/websites?search=SHOP`)).json;
    expect(WebsiteList.parse(list)).toEqual(list);
    expect(list).toMatchObject({ count: 1, orderBy: 'name', search: 'SHOP', data: [website] });
    expect((await as(viewer, 'GET', '/websites?includeTeams=1')).json.count).toBe(0);
    expect((await as(await api.newAccount(), 'GET', `/teams/${team.id}/websites`)).status).toBe(404);
  });

  test('of an account, for administrators: its websites, with includeTeams those of its teams, and its teams', async () => {
    const [admin, account] = [await api.newAccount('admin'), await api.newAccount()];
    const [team, own] = [await newTeam(account), await newWebsite({}, account.token)];
    const ours = await newWebsite({ teamId: team.id }, account.token);
    const path = `/users/${account.id.toUpperCase()}`;
    const ids = async (query: string) =>
      (await as(admin, 'GET', `${path}${query}`)).json.data.map(({ id }: { id: string }) => id).sort();
    expect(await ids('/websites')).toEqual([own.id]);
    expect(await ids('/websites?includeTeams=true')).toEqual([own.id, ours.id].sort());
    expect((await as(admin, 'GET', `${path}/teams`)).json).toMatchObject({ count: 1, data: [team] });
  });

  test('of everything, for administrators, find what belongs to anybody and nothing of another region', async () => {
    const [admin, account] = [await api.newAccount('admin'), await api.newAccount()];
    const name = `everything ${randomUUID()}`;
    const [team, website] = [await newTeam(account, name), await newWebsite({ name }, account.token)];
    const user = await api.deps.registry.findUserById(account.id);
    if (!user) throw new Error('no account');
    await api.fixtures.newWebsite(user, { name, region: 'eu' });
    const search = encodeURIComponent(name.toUpperCase());
    const [teams, websites] = [
      (await as(admin, 'GET', `/admin/teams?search=${search}`)).json,
      (await as(admin, 'GET', `/admin/websites?search=${search}`)).json,
    ];
    expect([TeamList.parse(teams), WebsiteList.parse(websites)]).toMatchObject([
      { count: 1, data: [team] },
      { count: 1, data: [website] },
    ]);
    for (const list of ['teams', 'websites'])
      expect((await as(admin, 'GET', `/admin/${list}?orderBy=password`)).status).toBe(400);
  });
});

test('the only owner of a team is not deleted: 400 that names the team', async () => {
  const [admin, owner] = [await api.newAccount('admin'), await api.newAccount()];
  const team = await newTeam(owner);
  const refused = await as(admin, 'DELETE', `/users/${owner.id}`);
  expect([refused.status, refused.json.error.message]).toEqual([400, expect.stringContaining(team.id)]);
  expect((await as(owner, 'GET', '/me')).status).toBe(200);
  expect((await as(admin, 'DELETE', `/teams/${team.id}`)).status).toBe(200);
  expect((await as(admin, 'DELETE', `/users/${owner.id}`)).status).toBe(200);
});
