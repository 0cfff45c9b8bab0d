import { createHash, randomUUID } from 'node:crypto';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Registry } from './registry.ts';
import { createTestRegistry, testActor } from './registry-fixtures.ts';

let t: Awaited<ReturnType<typeof createTestRegistry>>;
let registry: Registry;

beforeAll(async () => {
  t = await createTestRegistry(await createPostgresDatabase());
  registry = t.registry;
});
afterAll(() => t.close());

const account = (username: string) => ({ username, passwordHash: 'h', role: 'user' as const, homeRegion: 'us' });
const newKey = async (userId: string) => {
  const keyHash = createHash('sha256').update(randomUUID()).digest();
  return {
    keyHash,
    ...(await registry.createApiKey({ userId, name: 'ci', keyHash, keyPrefix: 'mrd_abc' }, testActor)),
  };
};

describe('users', () => {
  test('of 20 parallel creates with one name in any letter case exactly one wins', async () => {
    const names = Array.from({ length: 20 }, (_, i) => (i % 2 ? 'ÉMILIE' : 'émilie'));
    const results = await Promise.all(names.map((name) => registry.createUser(account(name), testActor)));
    expect(results.filter((result) => result.ok)).toHaveLength(1);
    expect(results.filter((result) => !result.ok && result.reason === 'username_taken')).toHaveLength(19);
    expect(await registry.findUserByUsername('Émilie')).toMatchObject({ passwordHash: 'h', sessionGeneration: 0 });
  });

  test('an id in use is told', async () => {
    const user = await t.newUser();
    expect(await registry.createUser({ ...account('other'), id: user.id }, testActor)).toEqual({
      ok: false,
      reason: 'user_id_taken',
    });
  });

  test('changes are applied; another name that is taken is refused', async () => {
    const [user, other] = [await t.newUser(), await t.newUser()];
    expect(await registry.updateUser(user.id, { username: other.username.toUpperCase() }, testActor)).toEqual({
      ok: false,
      reason: 'username_taken',
    });
    expect(await registry.updateUser(user.id, { username: 'Renamed', role: 'admin' }, testActor)).toMatchObject({
      ok: true,
      user: { username: 'Renamed', role: 'admin' },
    });
    expect((await registry.findUserByUsername('renamed'))?.id).toBe(user.id);
    expect(await registry.findUserByUsername(user.username)).toBeNull();
    expect(await registry.updateUser(randomUUID(), {}, testActor)).toMatchObject({ reason: 'user_not_found' });
  });

  test('a deleted user is gone with keys, memberships and own websites; team websites and the name stay', async () => {
    const user = await t.newUser();
    const own = await t.newWebsite(user, { shareId: 'of-deleted-user' });
    const teamId = await t.newTeam([
      [user, 'team-owner'],
      [await t.newUser(), 'team-owner'],
    ]);
    const ours = await t.newWebsite(user, { teamId });
    const key = await newKey(user.id);
    expect(await registry.deleteUser(user.id, testActor)).toEqual({
      ok: true,
      websites: [{ id: own.id, region: 'us' }],
    });
    for (const id of [user.id, randomUUID(), 'x'])
      expect(await registry.deleteUser(id, testActor)).toEqual({ ok: false, reason: 'user_not_found' });
    expect(await registry.findUserById(user.id)).toBeNull();
    expect(await registry.findCallerByKeyHash(key.keyHash)).toBeNull();
    expect(await registry.findTeamRole(teamId, user.id)).toBeNull();
    expect(await registry.findWebsite(own.id)).toBeNull();
    expect(await registry.listUnpurgedWebsites('us')).toContain(own.id);
    expect((await registry.findWebsite(ours.id))?.owner).toEqual({ id: user.id, username: user.username });
    expect(await registry.createUser(account(user.username), testActor)).toMatchObject({ ok: true });
  });

  test('the only owner of a team is not deleted, until the team has another one or is deleted itself', async () => {
    const [user, other] = [await t.newUser(), await t.newUser()];
    const [kept, given, gone] = [
      await t.newTeam([
        [user, 'team-owner'],
        [other, 'team-owner'],
      ]),
      await t.newTeam([
        [user, 'team-owner'],
        [other, 'team-manager'],
      ]),
      await t.newTeam([[user, 'team-owner']]),
    ];
    const refused = await registry.deleteUser(user.id, testActor);
    expect(refused).toEqual({ ok: false, reason: 'last_owner', teamIds: expect.any(Array) });
    expect(refused.ok || refused.reason !== 'last_owner' || [...refused.teamIds].sort()).toEqual([given, gone].sort());
    expect(await registry.findUserById(user.id)).toMatchObject({ id: user.id });
    const change = { userId: other.id, role: 'team-owner', among: ['team-manager'] } as const;
    await registry.updateTeamMember(given, change, testActor);
    await registry.deleteTeam(gone, testActor);
    expect(await registry.deleteUser(user.id, testActor)).toEqual({ ok: true, websites: [] });
    expect(await registry.deleteUser(other.id, testActor)).toMatchObject({ ok: false, reason: 'last_owner' });
    expect(await registry.findTeamRole(kept, other.id)).toBe('team-owner');
  });

  test('of the two owners of a team that are deleted at once one stays', async () => {
    for (let round = 0; round < 5; round++) {
      const owners = [await t.newUser(), await t.newUser()];
      const teamId = await t.newTeam(owners.map((owner) => [owner, 'team-owner']));
      const results = await Promise.all(owners.map(({ id }) => registry.deleteUser(id, testActor)));
      expect(results.map(({ ok }) => ok).sort()).toEqual([false, true]);
      expect(await t.sql('SELECT role FROM team_user WHERE team_id = $1', [teamId])).toEqual([{ role: 'team-owner' }]);
    }
  });

  test('a list of users is searched, counted and paged without the deleted ones', async () => {
    for (const name of ['list-b', 'list-A', 'list-c']) await t.newUser({ username: name });
    const gone = await t.newUser({ username: 'list-d' });
    await registry.deleteUser(gone.id, testActor);
    const page = await registry.listUsers({ page: 1, pageSize: 2, search: 'LIST-' });
    expect([page.rows.map((row) => row.username), page.count]).toEqual([['list-A', 'list-b'], 3]);
    expect(Object.keys(page.rows[0] ?? {})).not.toContain('passwordHash');
  });
});

describe('sessions', () => {
  const session = (userId: string) => ({ id: randomUUID(), userId, generation: 0 });

  test('a session has a user until it is ended, and the other sessions go on', async () => {
    const user = await t.newUser();
    const [first, second] = [session(user.id), session(user.id)];
    expect(await registry.findSessionUser(first)).toEqual(user);
    const expiresAt = new Date(Date.now() + 60_000);
    await registry.endSession(first.id, expiresAt);
    await registry.endSession(first.id, expiresAt);
    expect(await registry.findSessionUser(first)).toBeNull();
    expect(await registry.findSessionUser(second)).toEqual(user);
  });

  test('a new password ends all sessions of the user, another change does not', async () => {
    const user = await t.newUser();
    await registry.updateUser(user.id, { role: 'view-only' }, testActor);
    expect(await registry.findSessionUser(session(user.id))).toMatchObject({ role: 'view-only' });
    await registry.updateUser(user.id, { passwordHash: 'new' }, testActor);
    expect(await registry.findSessionUser(session(user.id))).toBeNull();
    expect(await registry.findSessionUser({ ...session(user.id), generation: 1 })).toMatchObject({ id: user.id });
  });

  test('ended sessions are forgotten once they would have expired', async () => {
    const [old, next] = [randomUUID(), randomUUID()];
    await registry.endSession(old, new Date(Date.now() - 1000));
    await registry.endSession(next, new Date(Date.now() + 60_000));
    expect(await t.sql('SELECT id FROM ended_session WHERE id IN ($1, $2)', [old, next])).toEqual([{ id: next }]);
  });
});

describe('API keys', () => {
  test('a key names its owner until it is deleted by its owner', async () => {
    const [user, stranger] = [await t.newUser(), await t.newUser()];
    const key = await newKey(user.id);
    const caller = { user, key: { id: key.id, name: 'ci' } };
    expect(await registry.findCallerByKeyHash(key.keyHash)).toEqual(caller);
    expect(await registry.deleteApiKey(stranger.id, key.id, testActor)).toBe(false);
    expect(await registry.deleteApiKey(user.id, "' OR 1=1", testActor)).toBe(false);
    expect(await registry.findCallerByKeyHash(key.keyHash)).toEqual(caller);
    expect(await registry.deleteApiKey(user.id, key.id, testActor)).toBe(true);
    expect(await registry.findCallerByKeyHash(key.keyHash)).toBeNull();
  });

  test('only the own keys are listed, oldest first, without their hash', async () => {
    const user = await t.newUser();
    const [first, second] = [await newKey(user.id), await newKey(user.id)];
    await newKey((await t.newUser()).id);
    const listed = await registry.listApiKeys(user.id);
    expect(listed.map((key) => key.id)).toEqual([first.id, second.id]);
    expect(Object.keys(listed[0] ?? {})).not.toContain('keyHash');
  });

  test('lastUsedAt is written at most once a minute', async () => {
    const user = await t.newUser();
    const key = await newKey(user.id);
    const at = (second: number) => new Date(Date.UTC(2026, 5, 10, 10, 0, second));
    const lastUsedAt = async () => (await registry.listApiKeys(user.id))[0]?.lastUsedAt;
    await registry.touchApiKey(key.id, at(0));
    await registry.touchApiKey(key.id, at(59));
    expect(await lastUsedAt()).toEqual(at(0));
    await registry.touchApiKey(key.id, at(61));
    expect(await lastUsedAt()).toEqual(at(61));
  });
});

test('teams of a user come with the role in them; a deleted team is none', async () => {
  const user = await t.newUser();
  const [team, gone] = [await t.newTeam([[user, 'team-member']], 'Alpha'), await t.newTeam([[user, 'team-owner']])];
  await t.sql('UPDATE team SET deleted_at = now() WHERE id = $1', [gone]);
  expect(await registry.listTeamsOfUser(user.id)).toEqual([
    { id: team, name: 'Alpha', logoUrl: null, role: 'team-member' },
  ]);
  expect(await registry.findTeamRole(team, user.id)).toBe('team-member');
  expect(await registry.findTeamRole(gone, user.id)).toBeNull();
  expect(await registry.findTeamRole('x', user.id)).toBeNull();
});

test('of two administrators who take each other away at the same time one stays, however often it is tried', async () => {
  for (const administrator of await t.sql("SELECT id FROM user_account WHERE role = 'admin' AND deleted_at IS NULL"))
    await t.sql("UPDATE user_account SET role = 'user' WHERE id = $1", [administrator.id]);
  for (let round = 0; round < 20; round++) {
    const [a, b] = [await t.newUser({ role: 'admin' }), await t.newUser({ role: 'admin' })];
    const outcomes = await Promise.all([
      t.registry.updateUser(a.id, { role: 'user' }, testActor),
      round % 2
        ? t.registry.deleteUser(b.id, testActor)
        : t.registry.updateUser(b.id, { role: 'view-only' }, testActor),
    ]);
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
    expect(outcomes).toContainEqual({ ok: false, reason: 'last_administrator' });
    await t.sql("UPDATE user_account SET role = 'user' WHERE role = 'admin'");
  }
});
