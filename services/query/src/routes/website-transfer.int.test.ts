import { randomUUID } from 'node:crypto';
import { WebsiteRecord } from '@meridian/contract/websites';
import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import type { TeamRole } from '@meridian/registry/rows';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApi } from '../query-fixtures.ts';
import { websiteCalls } from '../website-fixtures.ts';

let api: Awaited<ReturnType<typeof createTestApi>>;
type Account = Awaited<ReturnType<typeof api.newAccount>>;
let owner: Account;

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
  owner = await api.newAccount();
});
afterAll(() => api.close());

const { newWebsite, read } = websiteCalls(() => ({ api, token: owner.token }));
const give = (account: Account, id: string, body: unknown) =>
  api.call('POST', `/websites/${id}/transfer`, { token: account.token, body });
/** A team in which the owner of these tests has this role. */
const teamAs = async (role: TeamRole) => api.fixtures.newTeam([[owner, role]]);

test('to a team in which the owner may create, and back to oneself; all but the owner stays', async () => {
  for (const role of ['team-owner', 'team-manager'] as const) {
    const [website, teamId] = [await newWebsite({ shareId: randomUUID() }), await teamAs(role)];
    const given = await give(owner, website.id, { teamId, websiteId: randomUUID(), userId: null });
    expect(WebsiteRecord.parse(given.json)).toEqual({
      ...website,
      userId: null,
      teamId,
      updatedAt: expect.any(String),
    });
    expect(await read(website.id)).toEqual(given.json);
    expect((await give(owner, website.id, { userId: owner.id.toUpperCase() })).json).toEqual({
      ...website,
      updatedAt: expect.any(String),
    });
  }
});

test('a member gives to the team, where he then may no longer take it back', async () => {
  const [website, teamId] = [await newWebsite(), await teamAs('team-member')];
  expect((await give(owner, website.id, { teamId })).status).toBe(200);
  expect((await give(owner, website.id, { userId: owner.id })).status).toBe(403);
  expect((await read(website.id)).teamId).toBe(teamId);
});

test('from one team to another', async () => {
  const [from, to] = [await teamAs('team-manager'), await teamAs('team-member')];
  const website = await newWebsite({ teamId: from });
  expect((await give(owner, website.id, { teamId: to })).json).toMatchObject({ teamId: to, userId: null });
});

test('who got nothing to do with it any more does not see it with the next request', async () => {
  const [website, mine] = [await newWebsite(), await api.newAccount()];
  const teamId = await api.fixtures.newTeam([
    [owner, 'team-member'],
    [mine, 'team-owner'],
  ]);
  expect(await read(website.id, mine.token)).toBeNull();
  await give(owner, website.id, { teamId });
  expect((await read(website.id, mine.token)).id).toBe(website.id);
  expect((await give(mine, website.id, { userId: mine.id })).json).toMatchObject({
    userId: mine.id,
    createdBy: owner.id,
  });
  expect(await read(website.id)).toBeNull();
  expect((await give(owner, website.id, { userId: owner.id })).status).toBe(404);
});

test('never to the account of somebody else, nor to a team in which one may not create: 403, whether it exists or not', async () => {
  const [website, stranger, gone] = [await newWebsite(), await api.newAccount(), await api.fixtures.newUser()];
  await api.deps.registry.deleteUser(gone.id, { userId: null, name: 'test', keyId: null, requestId: null });
  const strangersTeam = await api.fixtures.newTeam([[stranger, 'team-owner']]);
  const accounts = [];
  for (const userId of [stranger.id, gone.id, randomUUID(), 'x'])
    accounts.push(await give(owner, website.id, { userId }));
  const teams = [];
  for (const teamId of [strangersTeam, await teamAs('team-view-only'), randomUUID(), 'x'])
    teams.push(await give(owner, website.id, { teamId }));
  for (const answers of [accounts, teams]) {
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  }
  expect(await read(website.id)).toEqual(website);
});

test('an administrator gives to any account and any team, but to none that is not there', async () => {
  const [admin, receiver, website] = [
    await api.newAccount('admin'),
    await api.newAccount('view-only'),
    await newWebsite(),
  ];
  const teamId = await api.fixtures.newTeam([[receiver, 'team-view-only']]);
  expect((await give(admin, website.id, { userId: receiver.id })).json.user.id).toBe(receiver.id);
  expect((await give(admin, website.id, { teamId })).json.teamId).toBe(teamId);
  for (const [body, status] of [
    [{ userId: randomUUID() }, 400],
    [{ userId: 'x' }, 400],
    [{ teamId: randomUUID() }, 403],
  ] as const)
    expect((await give(admin, website.id, body)).status).toBe(status);
  expect((await read(website.id, receiver.token)).teamId).toBe(teamId);
});

test('exactly one of userId and teamId: anything else is 400 and changes nothing', async () => {
  const [website, teamId] = [await newWebsite(), await teamAs('team-owner')];
  for (const body of [
    {},
    { userId: null, teamId: null },
    { userId: '', teamId: '' },
    { userId: owner.id, teamId },
    { teamId: 5 },
    { teamId: [teamId] },
    [],
    'x',
  ])
    expect((await give(owner, website.id, body)).status, JSON.stringify(body)).toBe(400);
  expect(await read(website.id)).toEqual(website);
});

test('collection goes on as before: the collectors find the website where it was', async () => {
  const [website, teamId] = [await newWebsite(), await teamAs('team-owner')];
  const before = await api.deps.registry.findWebsiteStatus(website.id);
  await give(owner, website.id, { teamId });
  expect(await api.deps.registry.findWebsiteStatus(website.id)).toEqual(before);
});
