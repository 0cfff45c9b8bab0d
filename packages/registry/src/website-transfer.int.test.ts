import { randomUUID } from 'node:crypto';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Registry } from './registry.ts';
import { createTestRegistry, testActor } from './registry-fixtures.ts';

let t: Awaited<ReturnType<typeof createTestRegistry>>;
let registry: Registry;

beforeAll(async () => {
  t = await createTestRegistry(await createPostgresDatabase());
  registry = t.registry;
});
afterAll(() => t.close());

test('a website goes to a team and to an account; all but its owner stays', async () => {
  const [maker, other] = [await t.newUser(), await t.newUser()];
  const teamId = await t.newTeam([[maker, 'team-owner']]);
  const website = await t.newWebsite(maker, { shareId: randomUUID() });
  await registry.resetWebsite(website.id, new Date('2026-06-10T10:00:00Z'), testActor);
  const before = await registry.findWebsite(website.id);
  const route = await registry.findWebsiteStatus(website.id);

  const toTeam = await registry.transferWebsite(website.id, { teamId: teamId.toUpperCase() }, testActor);
  expect(toTeam).toEqual({ ok: true, website: { ...before, userId: null, teamId, updatedAt: expect.any(Date) } });
  expect(await registry.findWebsite(website.id)).toEqual(toTeam.ok && toTeam.website);
  expect(await registry.findWebsiteStatus(website.id)).toEqual(route);
  const toOther = await registry.transferWebsite(website.id, { userId: other.id }, testActor);
  expect(toOther).toMatchObject({
    website: { userId: other.id, teamId: null, createdBy: maker.id, owner: { username: other.username } },
  });

  const { rows } = await registry.listAuditEntries({ page: 1, pageSize: 10, subjectId: website.id });
  expect(rows.filter(({ action }) => action === 'website.transfer').map(({ details }) => details)).toEqual([
    { userId: other.id, teamId: null, before: { userId: null, teamId } },
    { userId: null, teamId, before: { userId: maker.id, teamId: null } },
  ]);
});

test('what is not there is told, and changes nothing', async () => {
  const [maker, gone] = [await t.newUser(), await t.newUser()];
  const goneTeam = await t.newTeam([[maker, 'team-owner']]);
  await registry.deleteUser(gone.id, testActor);
  await registry.deleteTeam(goneTeam, testActor);
  const [website, deleted] = [await t.newWebsite(maker), await t.newWebsite(maker)];
  await registry.deleteWebsite(deleted.id, testActor);
  for (const userId of [gone.id, randomUUID(), 'x'])
    expect(await registry.transferWebsite(website.id, { userId }, testActor)).toEqual({
      ok: false,
      reason: 'user_not_found',
    });
  for (const teamId of [goneTeam, randomUUID(), 'x'])
    expect(await registry.transferWebsite(website.id, { teamId }, testActor)).toEqual({
      ok: false,
      reason: 'team_not_found',
    });
  for (const id of [deleted.id, randomUUID(), 'x'])
    expect(await registry.transferWebsite(id, { userId: maker.id }, testActor)).toEqual({
      ok: false,
      reason: 'website_not_found',
    });
  expect(await registry.findWebsite(website.id)).toEqual(website);
});

test('a website given to an account that is deleted at the same time is deleted with it, or stays where it was', async () => {
  const maker = await t.newUser();
  for (let round = 0; round < 10; round++) {
    const [website, receiver] = [await t.newWebsite(maker), await t.newUser()];
    const [moved, deleted] = await Promise.all([
      registry.transferWebsite(website.id, { userId: receiver.id }, testActor),
      registry.deleteUser(receiver.id, testActor),
    ]);
    expect(deleted).toEqual({ ok: true, websites: moved.ok ? [{ id: website.id, region: 'us' }] : [] });
    expect((await registry.findWebsite(website.id))?.userId ?? null).toBe(moved.ok ? null : maker.id);
  }
});
