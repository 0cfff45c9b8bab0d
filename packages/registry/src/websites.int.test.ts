import { randomUUID } from 'node:crypto';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Registry } from './registry.ts';
import { createTestRegistry, testActor } from './registry-fixtures.ts';
import type { User, WebsiteListRequest } from './rows.ts';

let t: Awaited<ReturnType<typeof createTestRegistry>>;
let registry: Registry;
let owner: User;

beforeAll(async () => {
  t = await createTestRegistry(await createPostgresDatabase());
  registry = t.registry;
  owner = await t.newUser();
});
afterAll(() => t.close());

const input = () => ({ name: 'x', domain: 'x.example', userId: owner.id, createdBy: owner.id, region: 'us' });

describe('creating', () => {
  test('a new website has the defaults and is found as it was answered', async () => {
    const website = await t.newWebsite(owner);
    expect(website).toMatchObject({
      shareId: null,
      teamId: null,
      userId: owner.id,
      resetAt: null,
      replayConfig: { replayEnabled: false, sampleRate: 0, maskLevel: 'strict', blockSelector: '', maxDuration: 0 },
      owner: { id: owner.id, username: owner.username },
    });
    expect(await registry.findWebsite(website.id)).toEqual(website);
  });

  test('of 50 parallel creates with one id exactly one wins', async () => {
    const id = randomUUID();
    const results = await Promise.all(
      Array.from({ length: 50 }, () => registry.createWebsite({ ...input(), id }, testActor)),
    );
    expect(results.filter((result) => result.ok)).toHaveLength(1);
    expect(results.filter((result) => !result.ok && result.reason === 'website_id_taken')).toHaveLength(49);
  });

  test('of 50 parallel creates with one share id exactly one wins', async () => {
    const shareId = randomUUID();
    const results = await Promise.all(
      Array.from({ length: 50 }, () => registry.createWebsite({ ...input(), shareId }, testActor)),
    );
    expect(results.filter((result) => result.ok)).toHaveLength(1);
    expect(results.filter((result) => !result.ok && result.reason === 'share_id_taken')).toHaveLength(49);
  });

  test('a team that does not exist is told, whatever its id looks like', async () => {
    for (const teamId of [randomUUID(), 'x'])
      expect(await registry.createWebsite({ ...input(), userId: null, teamId }, testActor)).toEqual({
        ok: false,
        reason: 'team_not_found',
      });
  });

  test('an account that is deleted meanwhile makes no website, in a team neither; a deleted team gets none', async () => {
    const [gone, member] = [await t.newUser(), await t.newUser()];
    const teamId = await t.newTeam([[member, 'team-owner']]);
    await registry.deleteUser(gone.id, testActor);
    const make = (fields: object) => registry.createWebsite({ ...input(), ...fields }, testActor);
    expect(await make({ userId: gone.id, createdBy: gone.id })).toEqual({ ok: false, reason: 'user_not_found' });
    expect(await make({ userId: null, teamId, createdBy: gone.id })).toEqual({ ok: false, reason: 'user_not_found' });
    await registry.deleteTeam(teamId, testActor);
    expect(await make({ userId: null, teamId, createdBy: member.id })).toEqual({ ok: false, reason: 'team_not_found' });
  });

  test('NUL is removed, all other text is kept as it is', async () => {
    const name = "'; DROP TABLE website; -- 購物 😀";
    const website = await t.newWebsite(owner, { name: `${name}\0`, domain: 'a\0.example' });
    expect(website).toMatchObject({ name, domain: 'a.example' });
  });
});

describe('updating', () => {
  test('what is left out stays, and updatedAt moves forward', async () => {
    const website = await t.newWebsite(owner, { shareId: randomUUID() });
    const updated = await registry.updateWebsite(website.id, { name: 'Renamed' }, testActor);
    expect(updated).toEqual({
      ok: true,
      website: { ...website, name: 'Renamed', updatedAt: expect.any(Date) },
    });
    expect(updated.ok && updated.website.updatedAt.getTime()).toBeGreaterThan(website.updatedAt.getTime());
  });

  test('a taken share id changes nothing; a share id that was given up can be taken; its own is no conflict', async () => {
    const [first, second] = [await t.newWebsite(owner, { shareId: 'first-share' }), await t.newWebsite(owner)];
    expect(await registry.updateWebsite(second.id, { shareId: 'first-share', name: 'changed' }, testActor)).toEqual({
      ok: false,
      reason: 'share_id_taken',
    });
    expect(await registry.findWebsite(second.id)).toEqual(second);
    expect(await registry.updateWebsite(first.id, { shareId: 'first-share' }, testActor)).toMatchObject({ ok: true });
    await registry.updateWebsite(first.id, { shareId: null }, testActor);
    expect(await registry.updateWebsite(second.id, { shareId: 'first-share' }, testActor)).toMatchObject({ ok: true });
  });

  test('replayConfig is merged field by field, also by updates at the same time; null resets it', async () => {
    const website = await t.newWebsite(owner);
    await Promise.all([
      registry.updateWebsite(website.id, { replayConfig: { sampleRate: 0.5 } }, testActor),
      registry.updateWebsite(website.id, { replayConfig: { maskLevel: 'moderate' } }, testActor),
      registry.updateWebsite(website.id, { replayConfig: { blockSelector: '.a\0b' } }, testActor),
    ]);
    const merged = await registry.findWebsite(website.id);
    expect(merged?.replayConfig).toEqual({
      ...website.replayConfig,
      sampleRate: 0.5,
      maskLevel: 'moderate',
      blockSelector: '.ab',
    });
    await registry.updateWebsite(website.id, { replayConfig: null }, testActor);
    expect((await registry.findWebsite(website.id))?.replayConfig).toEqual(website.replayConfig);
  });

  test('an unknown website is told', async () => {
    for (const id of [randomUUID(), 'x'])
      expect(await registry.updateWebsite(id, { name: 'x' }, testActor)).toEqual({
        ok: false,
        reason: 'website_not_found',
      });
  });
});

describe('deleting and resetting', () => {
  test('the id of a deleted website stays reserved, its share id is free', async () => {
    const website = await t.newWebsite(owner, { shareId: 'given-back' });
    expect(await registry.deleteWebsite(website.id, testActor)).toBe(true);
    expect(await registry.deleteWebsite(website.id, testActor)).toBe(false);
    expect(await registry.findWebsite(website.id)).toBeNull();
    expect(await registry.findWebsiteStatus(website.id)).toEqual({ region: 'us', resetAt: null, deleted: true });
    expect(await registry.createWebsite({ ...input(), id: website.id }, testActor)).toEqual({
      ok: false,
      reason: 'website_id_taken',
    });
    expect(await registry.createWebsite({ ...input(), shareId: 'given-back' }, testActor)).toMatchObject({ ok: true });
    expect(await registry.updateWebsite(website.id, { name: 'x' }, testActor)).toMatchObject({ ok: false });
  });

  test('a deleted website is listed for its region until it is marked as purged', async () => {
    const website = await t.newWebsite(owner, { region: 'eu' });
    expect(await registry.listUnpurgedWebsites('eu')).toEqual([]);
    await registry.deleteWebsite(website.id, testActor);
    expect(await registry.listUnpurgedWebsites('eu')).toEqual([website.id]);
    await registry.markWebsitePurged(website.id);
    expect(await registry.listUnpurgedWebsites('eu')).toEqual([]);
  });

  test('resetAt never goes back, and a deleted or unknown website has none', async () => {
    const website = await t.newWebsite(owner);
    const [earlier, later] = [new Date('2026-06-01T00:00:00.123Z'), new Date('2026-06-02T00:00:00.456Z')];
    expect(await registry.resetWebsite(website.id, later, testActor)).toBe(true);
    expect(await registry.resetWebsite(website.id, earlier, testActor)).toBe(true);
    expect(await registry.findWebsiteStatus(website.id)).toEqual({ region: 'us', resetAt: later, deleted: false });
    await registry.deleteWebsite(website.id, testActor);
    expect(await registry.resetWebsite(website.id, new Date(), testActor)).toBe(false);
    expect(await registry.resetWebsite('x', new Date(), testActor)).toBe(false);
  });

  test('a reset is pending, and listed for its region, until exactly that reset or a later one is done', async () => {
    const website = await t.newWebsite(owner, { region: 'eu' });
    const [earlier, later] = [new Date('2026-06-01T00:00:00.123Z'), new Date('2026-06-02T00:00:00.456Z')];
    await registry.resetWebsite(website.id, later, testActor);
    await registry.markWebsiteReset(website.id, earlier);
    expect((await registry.findWebsite(website.id))?.pendingResetAt).toEqual(later);
    expect(await registry.listPendingResets('eu')).toEqual([{ id: website.id, before: later }]);
    await registry.markWebsiteReset(website.id, later);
    expect(await registry.findWebsite(website.id)).toMatchObject({ pendingResetAt: null, resetAt: later });
    expect(await registry.listPendingResets('eu')).toEqual([]);
  });

  test('the status of many websites is found at once, deleted ones too, in either case of letters; unknown ones and what is no UUID are left out', async () => {
    const [open, deleted] = [await t.newWebsite(owner), await t.newWebsite(owner)];
    await registry.deleteWebsite(deleted.id, testActor);
    const unknown = Array.from({ length: 70_000 }, () => randomUUID());
    expect(await registry.findWebsiteStatuses([open.id, 'x', deleted.id.toUpperCase(), ...unknown])).toEqual(
      new Map([
        [open.id, { region: 'us', resetAt: null, deleted: false }],
        [deleted.id.toUpperCase(), { region: 'us', resetAt: null, deleted: true }],
      ]),
    );
    expect(await registry.findWebsiteStatuses(['x'])).toEqual(new Map());
  });

  test('an id that is no UUID is unknown everywhere', async () => {
    expect(await registry.findWebsite("' OR 1=1")).toBeNull();
    expect(await registry.findWebsiteStatus('undefined')).toBeNull();
    expect(await registry.deleteWebsite('', testActor)).toBe(false);
  });
});

describe('listing', () => {
  let lister: User;
  const list = async ({ teamIds, ...request }: Partial<WebsiteListRequest> & { teamIds?: string[] } = {}) => {
    const defaults = {
      of: { userId: lister.id, teamIds },
      region: 'us',
      page: 1,
      pageSize: 20,
      orderBy: 'name' as const,
    };
    const { rows, count } = await registry.listWebsites({ ...defaults, ...request });
    return { names: rows.map((row) => row.name), count };
  };

  beforeAll(async () => {
    lister = await t.newUser();
    for (const [name, domain] of [
      ['delta', 'd.example'],
      ['alpha', 'z.example'],
      ['Charlie', 'c.example'],
      ['Ёлка', 'b.example'],
      ['echo 100%', 'find-me.example'],
    ] as const)
      await t.newWebsite(lister, { name, domain });
    await t.newWebsite(lister, { region: 'eu' });
    await registry.deleteWebsite((await t.newWebsite(lister)).id, testActor);
  });

  test('shows the own websites of the region that are not deleted, by name as people sort', async () => {
    expect(await list()).toEqual({ names: ['alpha', 'Charlie', 'delta', 'echo 100%', 'Ёлка'], count: 5 });
    expect((await list({ orderBy: 'domain', descending: true })).names).toEqual([
      'alpha',
      'echo 100%',
      'delta',
      'Charlie',
      'Ёлка',
    ]);
    expect((await list({ orderBy: 'createdAt' })).names).toEqual(['delta', 'alpha', 'Charlie', 'Ёлка', 'echo 100%']);
  });

  test('search finds part of a name or domain in any letter case of any script', async () => {
    expect((await list({ search: 'ALPH' })).names).toEqual(['alpha']);
    expect((await list({ search: 'FIND-Me' })).names).toEqual(['echo 100%']);
    expect((await list({ search: 'ёЛК' })).names).toEqual(['Ёлка']);
    expect((await list({ search: '' })).count).toBe(5);
  });

  test.each(['_', "'", "a%' OR '1'='1", '\\', '😀', 'a\\lpha', '\u0130', 'x'.repeat(10_000)])(
    'search takes %j literally',
    async (search) => {
      expect(await list({ search })).toEqual({ names: [], count: 0 });
    },
  );

  test('search takes % literally', async () => {
    expect((await list({ search: '%' })).names).toEqual(['echo 100%']);
  });

  test('pages are disjoint and complete, one beyond is empty', async () => {
    const pages = await Promise.all([1, 2, 3, 4].map((page) => list({ page, pageSize: 2 })));
    expect(pages.map((page) => page.names.length)).toEqual([2, 2, 1, 0]);
    expect(pages.every((page) => page.count === 5)).toBe(true);
    expect(new Set(pages.flatMap((page) => page.names)).size).toBe(5);
  });

  test('equal values are ordered by id, so that no page repeats a website', async () => {
    const user = await t.newUser();
    for (let i = 0; i < 7; i++) await t.newWebsite(user, { name: 'same' });
    const pages = [];
    for (let page = 1; page <= 7; page++)
      pages.push(
        await registry.listWebsites({ of: { userId: user.id }, region: 'us', page, pageSize: 1, orderBy: 'name' }),
      );
    const ids = pages.flatMap((page) => page.rows.map((row) => row.id));
    expect(ids).toEqual([...new Set(ids)].sort());
    expect(ids).toHaveLength(7);
  });

  test('maxResults bounds the count and all pages together', async () => {
    const pages = await Promise.all([1, 2, 3].map((page) => list({ page, pageSize: 2, maxResults: 3 })));
    expect(pages.map((page) => [page.names.length, page.count])).toEqual([
      [2, 3],
      [1, 3],
      [0, 3],
    ]);
  });

  test('websites of the given teams are included, and show their creator as owner', async () => {
    const teamId = await t.newTeam([[lister, 'team-owner']]);
    const website = await t.newWebsite(lister, { name: 'ours', teamId });
    expect(website).toMatchObject({ teamId, userId: null, owner: { id: lister.id } });
    expect((await list()).count).toBe(5);
    expect((await list({ teamIds: [teamId] })).count).toBe(6);
    expect((await list({ teamIds: [] })).count).toBe(5);
    expect(await list({ of: { teamIds: [teamId] } })).toEqual({ names: ['ours'], count: 1 });
  });

  test('of nobody is no website; of everybody is every one of the region', async () => {
    for (const of of [{}, { teamIds: [] }]) expect(await list({ of })).toEqual({ names: [], count: 0 });
    const { names } = await list({ of: 'everybody', pageSize: 1_000, search: 'delta' });
    expect(names).toContain('delta');
    const stranger = await t.newWebsite(await t.newUser(), { name: 'delta of a stranger' });
    expect(await list({ of: 'everybody', search: stranger.name })).toEqual({ names: [stranger.name], count: 1 });
  });
});
