import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { afterAll, expect, test } from 'vitest';
import { createTestRegistry, testActor } from './registry-fixtures.ts';
import type { Actor } from './rows.ts';

const { registry, sql, newUser, newWebsite, newTeam, close } = await createTestRegistry(await createPostgresDatabase());
afterAll(close);

const page = { page: 1, pageSize: 100 };
const entriesOf = async (subjectId: string) =>
  (await registry.listAuditEntries({ ...page, subjectId })).rows.map(({ action, details }) => [action, details]);

test('every change of an account, a key and a website is written down with what changed, newest first', async () => {
  const user = await newUser({ username: 'ada' });
  await registry.updateUser(user.id, { role: 'view-only', passwordHash: 'other hash' }, testActor);
  const key = await registry.createApiKey(
    { userId: user.id, name: 'ci', keyHash: Buffer.alloc(32, 7), keyPrefix: 'mrd_abcdef' },
    testActor,
  );
  await registry.deleteApiKey(user.id, key.id, testActor);
  const website = await newWebsite(user, { shareId: 'first' });
  await registry.updateWebsite(website.id, { name: 'Shop 2', replayConfig: { sampleRate: 0.5 } }, testActor);
  const resetAt = new Date('2026-06-10T10:00:00Z');
  await registry.resetWebsite(website.id, resetAt, testActor);
  await registry.deleteWebsite(website.id, testActor);
  await registry.deleteUser(user.id, testActor);

  const known = { name: 'ci', keyPrefix: 'mrd_abcdef', userId: user.id };
  expect(await entriesOf(key.id)).toEqual([
    ['api-key.delete', known],
    ['api-key.create', known],
  ]);
  expect(await entriesOf(website.id)).toEqual([
    ['website.delete', { name: 'Shop 2', domain: 'shop.example' }],
    ['website.reset', { resetAt: resetAt.toISOString() }],
    ['website.update', { name: 'Shop 2', replayConfig: { sampleRate: 0.5 } }],
    ['website.create', { name: 'Shop', domain: 'shop.example', teamId: null, shareId: 'set', region: 'us' }],
  ]);
  expect(await entriesOf(user.id)).toEqual([
    ['user.delete', { username: 'ada', websiteIds: [] }],
    ['user.update', { role: 'view-only', password: 'changed' }],
    ['user.create', { username: 'ada', role: 'user' }],
  ]);
  expect(JSON.stringify(await sql('SELECT * FROM audit_entry'))).not.toMatch(/hash/);
});

test('that a share id was set or removed is written down, and never which', async () => {
  const user = await newUser();
  const { id } = await newWebsite(user, { shareId: 'secret-1' });
  await registry.updateWebsite(id, { shareId: 'secret-2' }, testActor);
  await registry.updateWebsite(id, { name: 'Shop 2' }, testActor);
  await registry.updateWebsite(id, { shareId: null }, testActor);
  const created = { name: 'Shop', domain: 'shop.example', teamId: null, region: 'us' };
  expect(await entriesOf(id)).toEqual([
    ['website.update', { shareId: 'removed' }],
    ['website.update', { name: 'Shop 2' }],
    ['website.update', { shareId: 'set' }],
    ['website.create', { ...created, shareId: 'set' }],
  ]);
  const unshared = await newWebsite(user);
  expect(await entriesOf(unshared.id)).toEqual([['website.create', created]]);
  expect(JSON.stringify(await sql('SELECT * FROM audit_entry'))).not.toMatch(/secret/);
});

test('an entry names the account and the key, the request and the instant', async () => {
  const user = await newUser();
  const by: Actor = { userId: user.id, name: user.username, keyId: crypto.randomUUID(), requestId: 'request-1' };
  const { id } = await newWebsite(user);
  const before = Date.now();
  await registry.updateWebsite(id, { name: 'Other' }, by);
  const { rows } = await registry.listAuditEntries({ ...page, actorUserId: user.id });
  expect(rows).toMatchObject([{ actor: by, action: 'website.update', subjectId: id }]);
  expect(Math.abs((rows[0]?.at.getTime() ?? 0) - before)).toBeLessThan(60_000);
});

test('a change that is refused, and one that finds nothing, leaves no entry', async () => {
  const user = await newUser({ username: 'bob' });
  const website = await newWebsite(user, { shareId: 'taken' });
  const other = await newWebsite(user);
  const countEntries = async () => (await sql('SELECT count(*)::int AS n FROM audit_entry'))[0]?.n;
  const before = await countEntries();
  const newId = crypto.randomUUID();
  await registry.updateWebsite(other.id, { shareId: 'taken' }, testActor);
  await registry.updateWebsite(newId, { name: 'x' }, testActor);
  await registry.deleteWebsite(newId, testActor);
  await registry.resetWebsite(newId, new Date(), testActor);
  await registry.deleteApiKey(user.id, newId, testActor);
  await registry.deleteUser(newId, testActor);
  await registry.createUser({ username: 'Bob', passwordHash: 'x', role: 'user', homeRegion: 'us' }, testActor);
  const team = await newTeam([]);
  const input = { name: 'x', domain: 'x.example', createdBy: user.id, region: 'us', id: website.id, teamId: team };
  await registry.createWebsite(input, testActor);
  expect(await countEntries()).toBe(before);
});

test('entries can be neither changed nor removed', async () => {
  await newUser();
  for (const statement of [
    'UPDATE audit_entry SET actor_name = $$x$$',
    'DELETE FROM audit_entry',
    'TRUNCATE audit_entry',
  ])
    await expect(sql(statement)).rejects.toThrow('audit_entry is append-only');
});

test('the log is read by pages, and by account, subject, action and time', async () => {
  const user = await newUser();
  const by: Actor = { userId: user.id, name: `actor ${user.username}`, keyId: null, requestId: null };
  const { id } = await newWebsite(user);
  for (const name of ['a', 'b', 'c']) await registry.updateWebsite(id, { name }, by);
  const asked = (request: object) => registry.listAuditEntries({ ...page, ...request });
  const namesOf = async (request: object) => (await asked(request)).rows.map(({ details }) => details.name);
  expect(await namesOf({ actorUserId: user.id })).toEqual(['c', 'b', 'a']);
  expect(await asked({ actorUserId: user.id, page: 2, pageSize: 2 })).toMatchObject({
    rows: [{ details: { name: 'a' } }],
    count: 3,
  });
  expect(await namesOf({ subjectId: id.toUpperCase(), action: 'website.update' })).toEqual(['c', 'b', 'a']);
  expect(await namesOf({ search: by.name.toUpperCase() })).toEqual(['c', 'b', 'a']);
  expect(await namesOf({ actorUserId: user.id, to: new Date(0) })).toEqual([]);
  const lastDay = new Date(8.64e15);
  expect(await namesOf({ actorUserId: user.id, to: lastDay })).toEqual(['c', 'b', 'a']);
  expect(await namesOf({ actorUserId: user.id, from: lastDay })).toEqual([]);
  for (const request of [{ actorUserId: 'none' }, { action: 'website\0.x' }, { subjectId: "' OR 1=1 --" }])
    expect(await asked(request)).toEqual({ rows: [], count: 0 });
});

test('a share id is known as a link: setting it makes one, another one replaces its slug, null ends them all', async () => {
  const user = await newUser();
  const { id } = await newWebsite(user, { shareId: 'link-1' });
  const slugs = async () => (await sql('SELECT slug FROM share WHERE website_id = $1', [id])).map(({ slug }) => slug);
  expect(await slugs()).toEqual(['link-1']);
  await registry.updateWebsite(id, { shareId: 'link-2' }, testActor);
  expect(await slugs()).toEqual(['link-2']);
  await registry.updateWebsite(id, { shareId: 'link-2', name: 'same' }, testActor);
  expect(await slugs()).toEqual(['link-2']);
  await registry.updateWebsite(id, { shareId: null }, testActor);
  expect(await slugs()).toEqual([]);
  await registry.updateWebsite(id, { shareId: 'link-3' }, testActor);
  expect(await slugs()).toEqual(['link-3']);
  const other = await newWebsite(user);
  await sql(`INSERT INTO share (website_id, name, slug, parameters) VALUES ($1, 'x', 'link-4', '{}')`, [other.id]);
  expect(await registry.updateWebsite(id, { shareId: 'link-4' }, testActor)).toEqual({
    ok: false,
    reason: 'share_id_taken',
  });
  await registry.deleteWebsite(id, testActor);
  expect(await slugs()).toEqual([]);
});

test('what goes with an account or a team is written down for itself, and links and segments are found with their website', async () => {
  const user = await newUser({ username: 'grace' });
  const [own, linked] = [await newWebsite(user), await newWebsite(user)];
  const key = await registry.createApiKey(
    { userId: user.id, name: 'ci', keyHash: Buffer.alloc(32, 8), keyPrefix: 'mrd_ghijkl' },
    testActor,
  );
  await registry.createSegment(linked.id, { type: 'segment', name: 'a', parameters: {} }, testActor);
  const team = await newTeam([]);
  const ofTeam = await newWebsite(user, { teamId: team });
  expect((await entriesOf(linked.id)).map(([action]) => action)).toEqual(['segment.create', 'website.create']);
  await registry.deleteTeam(team, testActor);
  await registry.deleteUser(user.id, testActor);
  for (const id of [own.id, linked.id, ofTeam.id]) expect((await entriesOf(id))[0]?.[0]).toBe('website.delete');
  expect((await entriesOf(key.id))[0]?.[0]).toBe('api-key.delete');
});
