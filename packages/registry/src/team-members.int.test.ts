import { randomUUID } from 'node:crypto';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Registry } from './registry.ts';
import { createTestRegistry, testActor } from './registry-fixtures.ts';
import type { TeamRole } from './rows.ts';

let t: Awaited<ReturnType<typeof createTestRegistry>>;
let registry: Registry;

beforeAll(async () => {
  t = await createTestRegistry(await createPostgresDatabase());
  registry = t.registry;
});
afterAll(() => t.close());

const everyRole: TeamRole[] = ['team-owner', 'team-manager', 'team-member', 'team-view-only'];

async function newTeam() {
  const owner = await t.newUser();
  const created = await registry.createTeam(
    { name: 'Team', accessCode: `team_${randomUUID()}`, ownerId: owner.id },
    testActor,
  );
  if (!created.ok) throw new Error(created.reason);
  return { ...created.team, owner };
}

const rolesIn = async (teamId: string) =>
  Object.fromEntries(
    (await registry.listTeamMembers(teamId, { page: 1, pageSize: 100 })).rows.map(({ userId, role }) => [userId, role]),
  );
const entriesOf = async (subjectId: string) =>
  (await registry.listAuditEntries({ page: 1, pageSize: 100, subjectId })).rows
    .map(({ action, details }) => [action, details])
    .slice(0, -1);

describe('joining', () => {
  test('who knows the access code becomes a member, once', async () => {
    const { id, accessCode } = await newTeam();
    const user = await t.newUser();
    const join = () => registry.joinTeam(id, { userId: user.id, accessCode }, testActor);
    const results = await Promise.all(Array.from({ length: 10 }, join));
    const [first] = results;
    expect(first).toMatchObject({ ok: true, member: { teamId: id, userId: user.id, role: 'team-member' } });
    for (const result of results) expect(result).toEqual(first);
    expect(await entriesOf(id)).toEqual([['team.join', { userId: user.id, role: 'team-member' }]]);
  });

  test('who is a member already keeps the role', async () => {
    const { id, accessCode, owner } = await newTeam();
    expect(await registry.joinTeam(id, { userId: owner.id, accessCode }, testActor)).toMatchObject({
      ok: true,
      member: { role: 'team-owner' },
    });
    expect(await entriesOf(id)).toEqual([]);
  });

  test('a code that was replaced, and that of a deleted team, lets nobody in', async () => {
    const [replaced, deleted] = [await newTeam(), await newTeam()];
    const user = await t.newUser();
    await registry.updateTeam(replaced.id, { accessCode: randomUUID() }, testActor);
    await registry.deleteTeam(deleted.id, testActor);
    for (const { id, accessCode } of [replaced, deleted, { id: randomUUID(), accessCode: 'x' }])
      expect(await registry.joinTeam(id, { userId: user.id, accessCode }, testActor)).toEqual({
        ok: false,
        reason: 'team_not_found',
      });
    expect(await registry.listTeamsOfUser(user.id)).toEqual([]);
  });
});

describe('adding', () => {
  test('makes a member of every role; one that is a member, an account and a team that are not there are told', async () => {
    const team = await newTeam();
    for (const role of everyRole) {
      const user = await t.newUser();
      const added = await registry.addTeamMember(team.id, { userId: user.id.toUpperCase(), role }, testActor);
      expect(added).toMatchObject({ ok: true, member: { userId: user.id, username: user.username, role } });
      expect(await registry.findTeamMember(team.id, user.id)).toEqual(added.ok && added.member);
      expect(await registry.addTeamMember(team.id, { userId: user.id, role }, testActor)).toEqual({
        ok: false,
        reason: 'already_member',
      });
    }
    const [gone, user] = [await t.newUser(), await t.newUser()];
    await registry.deleteUser(gone.id, testActor);
    const add = (teamId: string, userId: string) =>
      registry.addTeamMember(teamId, { userId, role: 'team-member' }, testActor);
    for (const userId of [gone.id, randomUUID(), 'x'])
      expect(await add(team.id, userId)).toEqual({ ok: false, reason: 'user_not_found' });
    for (const teamId of [randomUUID(), 'x'])
      expect(await add(teamId, user.id)).toEqual({ ok: false, reason: 'team_not_found' });
  });
});

describe('changing and removing', () => {
  test('a role is changed and a member removed, and each is written down', async () => {
    const { id, owner } = await newTeam();
    const user = await t.newUser();
    await registry.addTeamMember(id, { userId: user.id, role: 'team-member' }, testActor);
    const change = { userId: user.id, role: 'team-view-only', among: everyRole } as const;
    const changed = await registry.updateTeamMember(id, change, testActor);
    expect(changed).toMatchObject({ ok: true, member: { userId: user.id, role: 'team-view-only' } });
    expect(changed.ok && changed.member.updatedAt > changed.member.createdAt).toBe(true);
    const removal = { userId: user.id.toUpperCase(), among: everyRole };
    expect(await registry.removeTeamMember(id, removal, testActor)).toEqual({ ok: true });
    expect(await registry.removeTeamMember(id, removal, testActor)).toEqual({ ok: false, reason: 'member_not_found' });
    expect(await rolesIn(id)).toEqual({ [owner.id]: 'team-owner' });
    expect(await entriesOf(id)).toEqual([
      ['team.member-remove', { userId: user.id, role: 'team-view-only' }],
      ['team.member-update', { userId: user.id, role: 'team-view-only', before: 'team-member' }],
      ['team.member-add', { userId: user.id, role: 'team-member' }],
    ]);
  });

  test('a team never loses its last owner, and lets one of two go', async () => {
    const { id, owner } = await newTeam();
    const user = await t.newUser();
    await registry.addTeamMember(id, { userId: user.id, role: 'team-manager' }, testActor);
    const demote = (userId: string) =>
      registry.updateTeamMember(id, { userId, role: 'team-member', among: everyRole }, testActor);
    const remove = (userId: string) => registry.removeTeamMember(id, { userId, among: everyRole }, testActor);
    for (const refused of [await demote(owner.id), await remove(owner.id)])
      expect(refused).toEqual({ ok: false, reason: 'last_owner' });
    const keep = { userId: owner.id, role: 'team-owner', among: everyRole } as const;
    expect(await registry.updateTeamMember(id, keep, testActor)).toMatchObject({ ok: true });
    await registry.updateTeamMember(id, { userId: user.id, role: 'team-owner', among: everyRole }, testActor);
    expect(await demote(owner.id)).toMatchObject({ ok: true });
    expect(await remove(user.id)).toEqual({ ok: false, reason: 'last_owner' });
  });

  test('of two owners that go at once, however they go, one stays', async () => {
    for (let round = 0; round < 5; round++) {
      const { id, owner } = await newTeam();
      const second = await t.newUser();
      await registry.addTeamMember(id, { userId: second.id, role: 'team-owner' }, testActor);
      const results = await Promise.all([
        registry.removeTeamMember(id, { userId: owner.id, among: everyRole }, testActor),
        registry.updateTeamMember(id, { userId: second.id, role: 'team-member', among: everyRole }, testActor),
      ]);
      expect(results.map(({ ok }) => ok).sort()).toEqual([false, true]);
      expect(Object.values(await rolesIn(id)).filter((role) => role === 'team-owner')).toHaveLength(1);
    }
  });

  test('a team keeps an owner when its owner makes another one and leaves, while that account is being deleted', async () => {
    const round = async () => {
      const { id, owner } = await newTeam();
      const heir = await t.newUser();
      await registry.addTeamMember(id, { userId: heir.id, role: 'team-member' }, testActor);
      const handOver = async () => {
        await registry.updateTeamMember(id, { userId: heir.id, role: 'team-owner', among: everyRole }, testActor);
        await registry.removeTeamMember(id, { userId: owner.id, among: everyRole }, testActor);
      };
      await Promise.all([handOver(), registry.deleteUser(heir.id, testActor)]);
      expect(Object.values(await rolesIn(id))).toContain('team-owner');
    };
    for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 10 }, round));
  });

  test('an account that was deleted is a member of nothing that could be changed', async () => {
    const { id } = await newTeam();
    const user = await t.newUser();
    await registry.addTeamMember(id, { userId: user.id, role: 'team-member' }, testActor);
    await registry.deleteUser(user.id, testActor);
    const change = { userId: user.id, role: 'team-owner', among: everyRole } as const;
    expect(await registry.updateTeamMember(id, change, testActor)).toEqual({ ok: false, reason: 'member_not_found' });
  });

  test('members of another role than those that may be touched are left alone', async () => {
    const { id, owner } = await newTeam();
    const among: TeamRole[] = ['team-manager', 'team-member', 'team-view-only'];
    const second = await t.newUser();
    await registry.addTeamMember(id, { userId: second.id, role: 'team-owner' }, testActor);
    const outOfReach = { ok: false, reason: 'out_of_reach' };
    const change = { userId: second.id, role: 'team-member', among } as const;
    expect(await registry.updateTeamMember(id, change, testActor)).toEqual(outOfReach);
    expect(await registry.removeTeamMember(id, { userId: second.id, among }, testActor)).toEqual(outOfReach);
    expect(await rolesIn(id)).toEqual({ [owner.id]: 'team-owner', [second.id]: 'team-owner' });
  });

  test('who is no member, and a team that is none, are told', async () => {
    const { id } = await newTeam();
    const stranger = await t.newUser();
    for (const [teamId, userId] of [
      [id, stranger.id],
      [id, 'x'],
      [randomUUID(), stranger.id],
      ['x', stranger.id],
    ] as const) {
      const missing = { ok: false, reason: 'member_not_found' };
      const change = { userId, role: 'team-member', among: everyRole } as const;
      expect(await registry.updateTeamMember(teamId, change, testActor)).toEqual(missing);
      expect(await registry.removeTeamMember(teamId, { userId, among: everyRole }, testActor)).toEqual(missing);
      expect(await registry.findTeamMember(teamId, userId)).toBeNull();
    }
  });
});

test('members are listed by name, searched and paged; a deleted account is none', async () => {
  const { id, owner } = await newTeam();
  for (const username of ['member-b', 'member-A', 'member-c']) {
    const user = await t.newUser({ username });
    await registry.addTeamMember(id, { userId: user.id, role: 'team-member' }, testActor);
  }
  const gone = await t.newUser({ username: 'member-d' });
  await registry.addTeamMember(id, { userId: gone.id, role: 'team-member' }, testActor);
  await registry.deleteUser(gone.id, testActor);
  const page = await registry.listTeamMembers(id, { page: 1, pageSize: 2, search: 'MEMBER-' });
  expect([page.rows.map(({ username }) => username), page.count]).toEqual([['member-A', 'member-b'], 3]);
  expect((await registry.listTeamMembers(id, { page: 1, pageSize: 10, search: owner.username })).rows).toMatchObject([
    { userId: owner.id, role: 'team-owner' },
  ]);
});

test('a membership has an id that no other membership has and that stays', async () => {
  const [first, second] = [await newTeam(), await newTeam()];
  await registry.addTeamMember(second.id, { userId: first.owner.id, role: 'team-member' }, testActor);
  const idOf = async (teamId: string, userId: string) => (await registry.findTeamMember(teamId, userId))?.id;
  const ids = [
    await idOf(first.id, first.owner.id),
    await idOf(second.id, first.owner.id),
    await idOf(second.id, second.owner.id),
  ];
  expect(new Set(ids).size).toBe(3);
  const change = { userId: first.owner.id, role: 'team-manager', among: everyRole } as const;
  expect(await registry.updateTeamMember(second.id, change, testActor)).toMatchObject({ member: { id: ids[1] } });
});
