import { randomBytes, randomUUID } from 'node:crypto';
import { createTestProxy } from '@meridian/embedded/test-proxy';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRegistry, type Registry } from './registry.ts';
import { createTestRegistry, testActor } from './registry-fixtures.ts';

let t: Awaited<ReturnType<typeof createTestRegistry>>;
/** Two processes. */
let registry: Registry;
let other: Registry;

beforeAll(async () => {
  t = await createTestRegistry(await createPostgresDatabase());
  other = t.registry;
  registry = createRegistry(t.url, { timeoutMs: 30_000 });
});
afterAll(async () => {
  await registry.close();
  await t.close();
});

const tables = ['api_key', 'user_account', 'ended_session', 'website', 'team', 'team_user'];

/** Whether the question is answered while its tables cannot be found. */
async function isRemembered(ask: () => Promise<unknown>): Promise<boolean> {
  await t.sql(tables.map((name) => `ALTER TABLE ${name} RENAME TO ${name}_away`).join(';'));
  try {
    await ask();
    return true;
  } catch {
    return false;
  } finally {
    await t.sql(tables.map((name) => `ALTER TABLE ${name}_away RENAME TO ${name}`).join(';'));
  }
}

/** Asks until the answer is remembered, as it is once the process follows changes. */
async function untilRemembered(ask: () => Promise<unknown>): Promise<void> {
  await expect
    .poll(async () => {
      await ask();
      return isRemembered(ask);
    })
    .toBe(true);
}

/** One of everything that is remembered, and how it is asked for. */
async function createWorld() {
  const owner = await t.newUser();
  const website = await t.newWebsite(owner);
  const teamId = await t.newTeam([[owner, 'team-member']]);
  const teamWebsite = await t.newWebsite(await t.newUser(), { teamId });
  const keyHash = randomBytes(32);
  const key = await t.registry.createApiKey({ userId: owner.id, name: 'ci', keyHash, keyPrefix: 'mrd_' }, testActor);
  const session = { id: randomUUID(), userId: owner.id, generation: 0 };
  return {
    ...{ owner, website, teamId, key, session },
    keyCaller: (at: Registry) => at.findCallerByKeyHash(keyHash),
    sessionUser: (at: Registry) => at.findSessionUser(session),
    findWebsite: (at: Registry) => at.findWebsite(website.id),
    findTeamWebsite: (at: Registry) => at.findWebsite(teamWebsite.id),
    teamRole: (at: Registry) => at.findTeamRole(teamId, owner.id),
  };
}

type World = Awaited<ReturnType<typeof createWorld>>;
type Change = [
  name: string,
  question: 'keyCaller' | 'sessionUser' | 'findWebsite' | 'findTeamWebsite' | 'teamRole',
  change: (world: World, at: Registry) => Promise<unknown>,
  answer: unknown,
];

const resetAt = new Date('2026-06-10T10:00:00.000Z');
const inAnHour = () => new Date(Date.now() + 3_600_000);

const changes: Change[] = [
  ['a deleted key', 'keyCaller', ({ owner, key }, at) => at.deleteApiKey(owner.id, key.id, testActor), null],
  ['the key of a deleted user', 'keyCaller', ({ owner }, at) => at.deleteUser(owner.id, testActor), null],
  [
    'the role of a key’s owner',
    'keyCaller',
    ({ owner }, at) => at.updateUser(owner.id, { role: 'view-only' }, testActor),
    expect.objectContaining({ user: expect.objectContaining({ role: 'view-only' }) }),
  ],
  [
    'the role of a session’s user',
    'sessionUser',
    ({ owner }, at) => at.updateUser(owner.id.toUpperCase(), { role: 'admin' }, testActor),
    expect.objectContaining({ role: 'admin' }),
  ],
  [
    'a new password',
    'sessionUser',
    ({ owner }, at) => at.updateUser(owner.id, { passwordHash: 'another' }, testActor),
    null,
  ],
  ['a logout', 'sessionUser', ({ session }, at) => at.endSession(session.id, inAnHour()), null],
  ['a deleted user', 'sessionUser', ({ owner }, at) => at.deleteUser(owner.id, testActor), null],
  [
    'another name of a website',
    'findWebsite',
    ({ website }, at) => at.updateWebsite(website.id, { name: 'Blog' }, testActor),
    expect.objectContaining({ name: 'Blog' }),
  ],
  [
    'another name of its owner',
    'findWebsite',
    ({ owner }, at) => at.updateUser(owner.id, { username: `renamed ${owner.username}` }, testActor),
    expect.objectContaining({ owner: { id: expect.any(String), username: expect.stringContaining('renamed') } }),
  ],
  [
    'a reset',
    'findWebsite',
    ({ website }, at) => at.resetWebsite(website.id, resetAt, testActor),
    expect.objectContaining({ pendingResetAt: resetAt }),
  ],
  ['a deleted website', 'findWebsite', ({ website }, at) => at.deleteWebsite(website.id, testActor), null],
  ['the website of a deleted user', 'findWebsite', ({ owner }, at) => at.deleteUser(owner.id, testActor), null],
  ['the website of a deleted team', 'findTeamWebsite', ({ teamId }, at) => at.deleteTeam(teamId, testActor), null],
  [
    'a website given to a team',
    'findWebsite',
    ({ website, teamId }, at) => at.transferWebsite(website.id.toUpperCase(), { teamId }, testActor),
    expect.objectContaining({ userId: null, teamId: expect.any(String) }),
  ],
  [
    'a role in a team',
    'teamRole',
    ({ teamId, owner }, at) =>
      at.updateTeamMember(teamId, { userId: owner.id, role: 'team-manager', among: ['team-member'] }, testActor),
    'team-manager',
  ],
  [
    'a removed member',
    'teamRole',
    ({ teamId, owner }, at) =>
      at.removeTeamMember(teamId.toUpperCase(), { userId: owner.id, among: ['team-member'] }, testActor),
    null,
  ],
  ['the members of a deleted team', 'teamRole', ({ teamId }, at) => at.deleteTeam(teamId, testActor), null],
];

describe('what changes is no longer answered as it was', () => {
  test.each(changes)(
    '%s: with the next question to the process that changed it',
    async (_, question, change, answer) => {
      const world = await createWorld();
      const ask = () => world[question](registry);
      await untilRemembered(ask);
      await change(world, registry);
      expect(await ask()).toEqual(answer);
    },
  );

  test.each(changes)('%s: soon by every other process', async (_, question, change, answer) => {
    const world = await createWorld();
    const ask = () => world[question](registry);
    await untilRemembered(ask);
    await change(world, other);
    await expect.poll(ask).toEqual(answer);
  });

  test.each<[string, Change[1], string, unknown]>([
    ['keys', 'keyCaller', "DELETE FROM api_key WHERE user_id = '{owner}'", null],
    [
      'the owner of a key',
      'keyCaller',
      `UPDATE api_key SET user_id = '{stranger}' WHERE user_id = '{owner}'`,
      expect.objectContaining({ user: expect.objectContaining({ role: 'admin' }) }),
    ],
    [
      'role',
      'sessionUser',
      "UPDATE user_account SET role = 'admin' WHERE id = '{owner}'",
      expect.objectContaining({ role: 'admin' }),
    ],
    [
      'website given to a team',
      'findWebsite',
      "UPDATE website SET user_id = NULL, team_id = '{team}' WHERE id = '{website}'",
      expect.objectContaining({ userId: null, teamId: expect.any(String) }),
    ],
    ['website', 'findWebsite', "DELETE FROM website WHERE id = '{website}'", null],
    ['team role', 'teamRole', "UPDATE team_user SET role = 'team-owner' WHERE team_id = '{team}'", 'team-owner'],
    ['membership', 'teamRole', "DELETE FROM team_user WHERE team_id = '{team}'", null],
    ['team', 'teamRole', "UPDATE team SET deleted_at = now() WHERE id = '{team}'", null],
  ])('by plain SQL: %s', async (_, question, statement, answer) => {
    const [world, stranger] = [await createWorld(), await t.newUser({ role: 'admin' })];
    const ask = () => world[question](registry);
    await untilRemembered(ask);
    const ids: Record<string, string> = {
      owner: world.owner.id,
      stranger: stranger.id,
      website: world.website.id,
      team: world.teamId,
    };
    await t.sql(statement.replaceAll(/\{(\w+)\}/g, (_match, name: string) => ids[name] ?? ''));
    await expect.poll(ask).toEqual(answer);
  });

  test('who was no member and becomes one', async () => {
    const { teamId } = await createWorld();
    const user = await t.newUser();
    const ask = () => registry.findTeamRole(teamId, user.id);
    expect(await ask()).toBeNull();
    await other.addTeamMember(teamId, { userId: user.id, role: 'team-manager' }, testActor);
    expect(await ask()).toBe('team-manager');
  });
});

test('who joins a team is a member with the next question to the process in which he joined', async () => {
  const user = await t.newUser();
  const created = await registry.createTeam({ name: 'Team', accessCode: randomUUID(), ownerId: user.id }, testActor);
  if (!created.ok) throw new Error(created.reason);
  const { id: teamId, accessCode } = created.team;
  const joiner = await t.newUser();
  const ask = () => registry.findTeamRole(teamId, joiner.id);
  expect(await ask()).toBeNull();
  await registry.joinTeam(teamId, { userId: joiner.id, accessCode }, testActor);
  expect(await ask()).toBe('team-member');
});

test('what was not found is asked for each time, so that it is there once it is made', async () => {
  const owner = await t.newUser();
  const [id, keyHash] = [randomUUID(), randomBytes(32)];
  expect([await registry.findWebsite(id), await registry.findCallerByKeyHash(keyHash)]).toEqual([null, null]);
  await t.newWebsite(owner, { id });
  await other.createApiKey({ userId: owner.id, name: 'ci', keyHash, keyPrefix: 'mrd_' }, testActor);
  expect(await registry.findWebsite(id)).toMatchObject({ id });
  expect(await registry.findCallerByKeyHash(keyHash)).toMatchObject({ user: { id: owner.id } });
});

test('that somebody has no role in a team is not remembered: what callers make up takes no room', async () => {
  const { teamId, teamRole } = await createWorld();
  const { id: stranger } = await t.newUser();
  await untilRemembered(() => teamRole(registry));
  for (const id of [teamId, randomUUID()]) {
    const ask = () => registry.findTeamRole(id, stranger);
    expect(await ask()).toBeNull();
    expect(await isRemembered(ask)).toBe(false);
  }
});

test('a use of a key is no news', async () => {
  const { key, website } = await createWorld();
  const listener = new pg.Client({ connectionString: t.url });
  const heard: string[] = [];
  listener.on('notification', ({ payload = '' }) => heard.push(payload));
  await listener.connect();
  await listener.query('LISTEN access_change');
  await other.touchApiKey(key.id, new Date());
  await other.updateWebsite(website.id, { name: 'Blog' }, testActor);
  await expect.poll(() => heard).toContain(`website ${website.id}`);
  expect(heard.filter((payload) => !payload.startsWith('beat '))).toEqual([`website ${website.id}`]);
  await listener.end();
});

test('a change right behind the loss of the listening connection is seen, and what is asked later is remembered again', async () => {
  const world = await createWorld();
  const ask = () => world.findWebsite(registry);
  await untilRemembered(ask);
  const [lost] = await t.sql(
    `SELECT count(pg_terminate_backend(pid))::int AS connections FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'meridian access changes'`,
  );
  expect(lost?.connections).toBeGreaterThan(0);
  await t.sql("UPDATE website SET name = 'Blog' WHERE id = $1", [world.website.id]);
  await expect.poll(ask).toMatchObject({ name: 'Blog' });
  await untilRemembered(ask);
});

test('while no news comes through, nothing that is remembered is answered; what changed meanwhile is seen afterwards', async () => {
  const { hostname, port } = new URL(t.url);
  const proxy = await createTestProxy({ host: hostname, port: Number(port) || 5432 });
  const url = new URL(t.url);
  [url.hostname, url.port] = ['127.0.0.1', String(proxy.port)];
  const cutOff = createRegistry(url.href, { timeoutMs: 1_000 });
  const world = await createWorld();
  const ask = () => world.findWebsite(cutOff);
  await untilRemembered(ask);
  proxy.hang();
  await t.sql("UPDATE website SET name = 'Blog' WHERE id = $1", [world.website.id]);
  const failure = () =>
    ask()
      .then(() => null)
      .catch((error: unknown) => error);
  await expect.poll(failure).toMatchObject({ kind: 'unavailable' });
  proxy.goUp();
  await expect.poll(() => ask().catch(() => null)).toMatchObject({ name: 'Blog' });
  await cutOff.close();
  await proxy.close();
});

test('a database that tells nobody of changes is asked each time', async () => {
  const untold = await createTestRegistry(await createPostgresDatabase());
  await untold.sql('DROP FUNCTION access_beat');
  const user = await untold.newUser();
  const session = { id: randomUUID(), userId: user.id, generation: 0 };
  const reads = async () => {
    await untold.registry.findSessionUser(session);
    await untold.sql('UPDATE user_account SET role = $1', ['view-only']);
    const { role } = (await untold.registry.findSessionUser(session)) ?? {};
    await untold.sql('UPDATE user_account SET role = $1', ['user']);
    return role;
  };
  for (let i = 0; i < 50; i++) expect(await reads()).toBe('view-only');
  await untold.close();
});
