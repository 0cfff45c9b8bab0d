import { randomUUID } from 'node:crypto';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Registry } from './registry.ts';
import { createTestRegistry, testActor } from './registry-fixtures.ts';
import type { Team, TeamListRequest, User } from './rows.ts';

let t: Awaited<ReturnType<typeof createTestRegistry>>;
let registry: Registry;

beforeAll(async () => {
  t = await createTestRegistry(await createPostgresDatabase());
  registry = t.registry;
});
afterAll(() => t.close());

async function newTeam(owner: User, name = 'Team'): Promise<Team> {
  const created = await registry.createTeam({ name, accessCode: `team_${randomUUID()}`, ownerId: owner.id }, testActor);
  if (!created.ok) throw new Error(created.reason);
  return created.team;
}

const entriesOf = async (subjectId: string) =>
  (await registry.listAuditEntries({ page: 1, pageSize: 100, subjectId })).rows.map(({ action, details }) => [
    action,
    details,
  ]);

test('a new team has its maker as owner, and is found by its id and by its access code', async () => {
  const owner = await t.newUser();
  const accessCode = `team_${randomUUID()}`;
  const created = await registry.createTeam({ name: 'A\0lpha', accessCode, ownerId: owner.id }, testActor);
  if (!created.ok) throw new Error(created.reason);
  const { team } = created;
  expect(team).toEqual({
    id: expect.any(String),
    name: 'Alpha',
    accessCode,
    logoUrl: null,
    createdAt: expect.any(Date),
    updatedAt: expect.any(Date),
  });
  expect(created.owner).toMatchObject({ teamId: team.id, userId: owner.id, role: 'team-owner' });
  expect(await registry.findTeam(team.id)).toEqual(team);
  expect(await registry.findTeamByAccessCode(accessCode)).toEqual(team);
  expect(await registry.findTeamRole(team.id, owner.id)).toBe('team-owner');
  expect(await entriesOf(team.id)).toEqual([['team.create', { name: 'Alpha', ownerId: owner.id }]]);
});

test('a team is made for nobody who does not exist, and no two teams share an access code', async () => {
  const [owner, gone] = [await t.newUser(), await t.newUser()];
  await registry.deleteUser(gone.id, testActor);
  for (const ownerId of [gone.id, randomUUID(), 'x'])
    expect(await registry.createTeam({ name: 'x', accessCode: randomUUID(), ownerId }, testActor)).toEqual({
      ok: false,
      reason: 'user_not_found',
    });
  const accessCode = randomUUID();
  const results = await Promise.all(
    Array.from({ length: 10 }, () => registry.createTeam({ name: 'x', accessCode, ownerId: owner.id }, testActor)),
  );
  expect(results.filter(({ ok }) => ok)).toHaveLength(1);
  expect(results.filter((result) => !result.ok && result.reason === 'access_code_taken')).toHaveLength(9);
});

test('a change keeps what it does not name, moves updatedAt, and the audit log does not hold the code', async () => {
  const owner = await t.newUser();
  const [team, other] = [await newTeam(owner), await newTeam(owner)];
  const renamed = await registry.updateTeam(team.id, { name: 'Beta' }, testActor);
  expect(renamed).toEqual({ ok: true, team: { ...team, name: 'Beta', updatedAt: expect.any(Date) } });
  expect(renamed.ok && renamed.team.updatedAt > team.updatedAt).toBe(true);
  const accessCode = `team_${randomUUID()}`;
  expect(await registry.updateTeam(team.id, { accessCode }, testActor)).toMatchObject({ team: { accessCode } });
  expect(await registry.findTeamByAccessCode(team.accessCode)).toBeNull();
  expect(await registry.updateTeam(team.id, { accessCode: other.accessCode }, testActor)).toEqual({
    ok: false,
    reason: 'access_code_taken',
  });
  expect(await entriesOf(team.id)).toEqual([
    ['team.update', { accessCode: 'changed' }],
    ['team.update', { name: 'Beta' }],
    ['team.create', expect.anything()],
  ]);
});

test('a deleted team is gone with its code, its members and its websites, in whatever region these are', async () => {
  const [owner, member] = [await t.newUser(), await t.newUser()];
  const team = await newTeam(owner);
  await registry.addTeamMember(team.id, { userId: member.id, role: 'team-member' }, testActor);
  const here = await t.newWebsite(member, { teamId: team.id, shareId: randomUUID() });
  const there = await t.newWebsite(owner, { teamId: team.id, region: 'eu' });
  const [own, before] = [await t.newWebsite(owner), await t.newWebsite(owner, { teamId: team.id })];
  await registry.deleteWebsite(before.id, testActor);

  const deleted = await registry.deleteTeam(team.id.toUpperCase(), testActor);
  expect(new Set(deleted?.websites)).toEqual(
    new Set([
      { id: here.id, region: 'us' },
      { id: there.id, region: 'eu' },
    ]),
  );
  expect(await registry.findTeam(team.id)).toBeNull();
  expect(await registry.findTeamByAccessCode(team.accessCode)).toBeNull();
  expect(await t.sql('SELECT access_code FROM team WHERE id = $1', [team.id])).toEqual([{ access_code: null }]);
  expect(await registry.findTeamRole(team.id, owner.id)).toBeNull();
  expect(await registry.listTeamsOfUser(member.id)).toEqual([]);
  for (const { id } of [here, there]) {
    expect(await registry.findWebsite(id)).toBeNull();
    expect(await registry.findWebsiteStatus(id)).toMatchObject({ deleted: true });
  }
  expect(await t.sql('SELECT slug FROM share WHERE website_id = $1', [here.id])).toEqual([]);
  expect(await registry.listUnpurgedWebsites('eu')).toContain(there.id);
  expect(await registry.findWebsite(own.id)).toMatchObject({ id: own.id });
  const [[action, details] = []] = await entriesOf(team.id);
  expect([action, details]).toEqual(['team.delete', { name: team.name, websiteIds: expect.any(Array) }]);

  for (const id of [team.id, randomUUID(), 'x']) {
    expect(await registry.deleteTeam(id, testActor)).toBeNull();
    expect(await registry.updateTeam(id, { name: 'x' }, testActor)).toEqual({ ok: false, reason: 'team_not_found' });
    expect(await registry.findTeam(id)).toBeNull();
  }
});

test('a website that comes to a team while the team is deleted is deleted with it, or does not come', async () => {
  const owner = await t.newUser();
  for (let round = 0; round < 10; round++) {
    const team = await newTeam(owner);
    const moving = await t.newWebsite(owner);
    const input = { name: 'x', domain: 'x.example', teamId: team.id, createdBy: owner.id, region: 'us' };
    const [created, moved] = await Promise.all([
      registry.createWebsite(input, testActor),
      registry.transferWebsite(moving.id, { teamId: team.id }, testActor),
      registry.deleteTeam(team.id, testActor),
    ]);
    expect(await t.sql('SELECT id FROM website WHERE team_id = $1 AND deleted_at IS NULL', [team.id])).toEqual([]);
    if (!created.ok) expect(created.reason).toBe('team_not_found');
    if (!moved.ok) expect(await registry.findWebsite(moving.id)).toMatchObject({ userId: owner.id });
  }
});

test('teams are listed by name as people sort, searched, paged, of one member or all, each with the role of that member', async () => {
  const [owner, member] = [await t.newUser(), await t.newUser()];
  const names = ['delta 50%', 'Alpha', 'Ёлка', 'charlie'];
  const teams = [];
  for (const name of names) teams.push(await newTeam(owner, name));
  await registry.deleteTeam((await newTeam(owner, 'gone')).id, testActor);
  await registry.addTeamMember(teams[0]?.id ?? '', { userId: member.id, role: 'team-view-only' }, testActor);

  const list = async (request: Partial<TeamListRequest> = {}) => {
    const defaults = { memberId: owner.id, page: 1, pageSize: 20, orderBy: 'name' } as const;
    const { rows, count } = await registry.listTeams({ ...defaults, ...request });
    return { names: rows.map(({ name }) => name), roles: rows.map(({ role }) => role), count };
  };
  expect(await list()).toEqual({
    names: ['Alpha', 'charlie', 'delta 50%', 'Ёлка'],
    roles: Array(4).fill('team-owner'),
    count: 4,
  });
  expect((await list({ orderBy: 'createdAt', descending: true })).names).toEqual([...names].reverse());
  expect(await list({ memberId: member.id })).toEqual({ names: ['delta 50%'], roles: ['team-view-only'], count: 1 });
  expect((await list({ search: 'ёЛК' })).names).toEqual(['Ёлка']);
  for (const search of ['%', '\0%']) expect((await list({ search })).names).toEqual(['delta 50%']);
  expect(await list({ page: 2, pageSize: 3, maxResults: 4 })).toMatchObject({ names: ['Ёлка'], count: 4 });
  for (const memberId of [randomUUID(), 'x', "' OR 1=1"]) expect((await list({ memberId })).count).toBe(0);
  const all = await list({ memberId: null, pageSize: 1_000 });
  expect(all.names).toEqual(expect.arrayContaining(names));
  expect(all.names).not.toContain('gone');
  expect(new Set(all.roles)).toEqual(new Set([null]));
});
