import { randomUUID } from 'node:crypto';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRegistry, type Registry } from './registry.ts';
import { createTestRegistry, testActor } from './registry-fixtures.ts';
import type { Share, ShareFields } from './rows.ts';

let t: Awaited<ReturnType<typeof createTestRegistry>>;
/** Two processes. */
let registry: Registry;
let other: Registry;

beforeAll(async () => {
  t = await createTestRegistry(await createPostgresDatabase());
  registry = t.registry;
  other = createRegistry(t.url, { timeoutMs: 30_000 });
});
afterAll(async () => {
  await other.close();
  await t.close();
});

const newSite = async (fields: { shareId?: string } = {}) => (await t.newWebsite(await t.newUser(), fields)).id;
const newSlug = () => `s-${randomUUID()}`;
const fields = (changes: Partial<ShareFields> = {}): ShareFields => ({
  name: 'For the board',
  slug: newSlug(),
  parameters: { overview: true, events: true },
  ...changes,
});
const newShare = async (websiteId: string, changes: Partial<ShareFields> = {}): Promise<Share> => {
  const created = await registry.createShare(websiteId, fields(changes), testActor);
  if (!created.ok) throw new Error(created.reason);
  return created.share;
};
const shareIdOf = async (websiteId: string) => (await registry.findWebsite(websiteId))?.shareId;
const sharesOf = async (websiteId: string) =>
  (await registry.listShares({ websiteId, page: 1, pageSize: 100 })).rows.map(({ slug }) => slug);
const taken = { ok: false, reason: 'share_id_taken' };

test('a link is found as it was made, by id and by slug, in its own letters', async () => {
  const site = await newSite();
  const share = await newShare(site, { parameters: { events: false, theme: '購物 😀' } });
  expect(share).toMatchObject({ websiteId: site, name: 'For the board', parameters: { events: false } });
  expect(await registry.findShare(share.id)).toEqual(share);
  expect(await registry.findShare(share.id.toUpperCase())).toEqual(share);
  expect(await registry.findShareBySlug(share.slug)).toEqual(share);
  for (const slug of ['', 'none', share.slug.toUpperCase(), `${share.slug} `, `%`, "x' OR 1=1"])
    expect(await registry.findShareBySlug(slug)).toBeNull();
  for (const id of [randomUUID(), site, share.slug, "x' OR 1=1"]) expect(await registry.findShare(id)).toBeNull();
});

test('the website’s share id is the slug of its newest link, and null without one', async () => {
  const site = await newSite({ shareId: newSlug() });
  const [first = ''] = await sharesOf(site);
  const [second, third] = [await newShare(site), await newShare(site)];
  expect(await sharesOf(site)).toEqual([third.slug, second.slug, first]);
  expect(await shareIdOf(site)).toBe(third.slug);
  expect(await registry.deleteShare(site, second.id, testActor)).toBe(true);
  expect(await shareIdOf(site)).toBe(third.slug);
  expect(await registry.deleteShare(site, third.id, testActor)).toBe(true);
  expect(await shareIdOf(site)).toBe(first);
  const last = await registry.findShareBySlug(first);
  expect(await registry.deleteShare(site, last?.id ?? '', testActor)).toBe(true);
  expect([await shareIdOf(site), await sharesOf(site)]).toEqual([null, []]);
  expect(await registry.deleteShare(site, third.id, testActor)).toBe(false);
});

test('a change keeps what is left out; the website’s share id follows the slug of its newest link only', async () => {
  const site = await newSite();
  const [older, newest] = [await newShare(site), await newShare(site)];
  const [slug, olderSlug] = [newSlug(), newSlug()];
  const renamed = await registry.updateShare(site, newest.id, { name: 'Other' }, testActor);
  expect(renamed).toMatchObject({ ok: true, share: { ...newest, name: 'Other', updatedAt: expect.any(Date) } });
  await registry.updateShare(site, older.id, { slug: olderSlug }, testActor);
  expect(await shareIdOf(site)).toBe(newest.slug);
  const moved = await registry.updateShare(site, newest.id, { slug, parameters: {} }, testActor);
  expect(moved).toMatchObject({ ok: true, share: { id: newest.id, name: 'Other', slug, parameters: {} } });
  if (moved.ok) expect(moved.share.updatedAt.getTime()).toBeGreaterThan(newest.updatedAt.getTime());
  expect([await shareIdOf(site), await sharesOf(site)]).toEqual([slug, [slug, olderSlug]]);
  expect(await registry.findShareBySlug(newest.slug)).toBeNull();
});

describe('a slug is that of one link of all websites', () => {
  test('whoever asks for it second is refused, and nothing changes', async () => {
    const [site, elsewhere] = [await newSite(), await newSite({ shareId: newSlug() })];
    const theirs = (await shareIdOf(elsewhere)) ?? '';
    const mine = await newShare(site);
    expect(await registry.createShare(site, fields({ slug: theirs }), testActor)).toEqual(taken);
    expect(await registry.createShare(site, fields({ slug: mine.slug }), testActor)).toEqual(taken);
    expect(await registry.updateShare(site, mine.id, { slug: theirs, name: 'x' }, testActor)).toEqual(taken);
    expect(await registry.updateWebsite(elsewhere, { shareId: mine.slug }, testActor)).toEqual(taken);
    expect(await registry.findShare(mine.id)).toEqual(mine);
    expect([await sharesOf(site), await sharesOf(elsewhere)]).toEqual([[mine.slug], [theirs]]);
  });

  test('nor is it the share id of its own website, unless it is that of the newest link', async () => {
    const shareId = newSlug();
    const site = await newSite({ shareId });
    const newest = await newShare(site);
    expect(await registry.updateWebsite(site, { shareId, name: 'x' }, testActor)).toEqual(taken);
    expect([await shareIdOf(site), await sharesOf(site)]).toEqual([newest.slug, [newest.slug, shareId]]);
    expect(await registry.updateWebsite(site, { shareId: newest.slug }, testActor)).toMatchObject({ ok: true });
    expect([await shareIdOf(site), await sharesOf(site)]).toEqual([newest.slug, [newest.slug, shareId]]);
  });

  test('of many that ask at once one gets it', async () => {
    const slug = newSlug();
    const sites = await Promise.all(Array.from({ length: 20 }, () => newSite()));
    const answers = await Promise.all(
      sites.map((site, i) => (i % 2 ? registry : other).createShare(site, fields({ slug }), testActor)),
    );
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    expect(answers.filter(({ ok }) => !ok)).toEqual(Array(19).fill(taken));
  });
});

test('whatever is made, changed and ended at once, the share id is the slug of the newest link', async () => {
  const site = await newSite();
  const shares = await Promise.all(Array.from({ length: 10 }, () => newShare(site)));
  await Promise.all(
    shares.map(({ id }, i) => {
      const at = i % 2 ? registry : other;
      if (i < 4) return at.deleteShare(site, id, testActor);
      if (i < 7) return at.updateShare(site, id, { slug: newSlug() }, testActor);
      return at.createShare(site, fields(), testActor);
    }),
  );
  const slugs = await sharesOf(site);
  expect(slugs).toHaveLength(9);
  await expect.poll(() => shareIdOf(site)).toBe(slugs[0]);
});

test('of another website, of none and by what is no id nothing is made, changed or ended', async () => {
  const [site, elsewhere] = [await newSite(), await newSite()];
  const share = await newShare(site);
  for (const websiteId of [elsewhere, randomUUID(), 'x'])
    for (const id of [share.id, randomUUID(), 'x']) {
      const notFound = { ok: false, reason: 'share_not_found' };
      expect(await registry.updateShare(websiteId, id, { name: 'x' }, testActor)).toEqual(notFound);
      expect(await registry.deleteShare(websiteId, id, testActor)).toBe(false);
    }
  const noWebsite = { ok: false, reason: 'website_not_found' };
  await registry.deleteWebsite(elsewhere, testActor);
  for (const websiteId of [elsewhere, randomUUID(), 'x'])
    expect(await registry.createShare(websiteId, fields(), testActor)).toEqual(noWebsite);
  expect(await registry.findShare(share.id)).toEqual(share);
});

test('lists are read by pages and searched by name and slug', async () => {
  const site = await newSite();
  const [a, b, c] = [await newShare(site, { name: 'Ärzte' }), await newShare(site), await newShare(site)];
  const list = (request: object) => registry.listShares({ websiteId: site, page: 1, pageSize: 2, ...request });
  expect(await list({})).toEqual({ rows: [c, b], count: 3 });
  expect(await list({ page: 2 })).toEqual({ rows: [a], count: 3 });
  expect(await list({ search: 'äRZ' })).toEqual({ rows: [a], count: 1 });
  expect(await list({ search: b.slug.toUpperCase() })).toEqual({ rows: [b], count: 1 });
});

test('every change is written down with what it was, and without slugs: who knows one reads the statistics', async () => {
  const site = await newSite();
  const share = await newShare(site);
  const slug = newSlug();
  await registry.updateShare(site, share.id, { slug }, testActor);
  await registry.updateShare(site, share.id, { slug: (await newShare(await newSite())).slug }, testActor);
  await registry.deleteShare(site, share.id, testActor);
  const { rows } = await registry.listAuditEntries({ page: 1, pageSize: 10, subjectId: share.id });
  expect(rows.map(({ action, details }) => [action, details])).toEqual([
    ['share.delete', { websiteId: site, name: share.name }],
    ['share.update', { websiteId: site, slug: 'changed' }],
    ['share.create', { websiteId: site, name: share.name, parameters: share.parameters }],
  ]);
});

describe('a link that is remembered ends', () => {
  type End = [string, (share: Share, at: Registry) => Promise<unknown>];
  const ends: End[] = [
    ['when it is deleted', ({ websiteId, id }, at) => at.deleteShare(websiteId, id, testActor)],
    [
      'when its website shares nothing more',
      ({ websiteId }, at) => at.updateWebsite(websiteId, { shareId: null }, testActor),
    ],
    ['when its website is deleted', ({ websiteId }, at) => at.deleteWebsite(websiteId, testActor)],
    ['by plain SQL', ({ id }) => t.sql('DELETE FROM share WHERE id = $1', [id])],
  ];
  /** Asks until the process is sure to hear of changes, so that answers are remembered. */
  const warm = async (share: Share) => {
    for (let i = 0; i < 20; i++)
      expect([await registry.findShare(share.id), await registry.findShareBySlug(share.slug)]).toEqual([share, share]);
  };

  test.each(ends)('%s: at once for the process that ends it, soon for every other', async (_name, end) => {
    for (const at of [registry, other]) {
      const share = await newShare(await newSite());
      await warm(share);
      await end(share, at);
      await expect.poll(() => registry.findShare(share.id)).toBeNull();
      await expect.poll(() => registry.findShareBySlug(share.slug)).toBeNull();
    }
  });

  test('with its slug: another slug is another link', async () => {
    for (const at of [registry, other]) {
      const share = await newShare(await newSite());
      await warm(share);
      const slug = newSlug();
      await at.updateWebsite(share.websiteId, { shareId: slug }, testActor);
      await expect.poll(() => registry.findShareBySlug(share.slug)).toBeNull();
      await expect.poll(() => registry.findShare(share.id)).toMatchObject({ id: share.id, slug });
    }
  });

  test('not with its owner: a website that moves keeps its links', async () => {
    const share = await newShare(await newSite());
    const { id } = await t.newUser();
    await t.sql('UPDATE website SET user_id = $1 WHERE id = $2', [id, share.websiteId]);
    expect(await registry.findShare(share.id)).toEqual(share);
  });
});
