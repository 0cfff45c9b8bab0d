import { randomUUID } from 'node:crypto';
import { createPostgresDatabase } from '@meridian/embedded/test-stores';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestRegistry, testActor } from './registry-fixtures.ts';
import type { Segment, SegmentFields } from './rows.ts';

let t: Awaited<ReturnType<typeof createTestRegistry>>;
beforeAll(async () => {
  t = await createTestRegistry(await createPostgresDatabase());
});
afterAll(() => t.close());

const newSite = async () => (await t.newWebsite(await t.newUser())).id;
const fields = (changes: Partial<SegmentFields> = {}): SegmentFields => ({
  type: 'segment',
  name: 'Buyers',
  parameters: { filters: [], match: 'all' },
  ...changes,
});

async function newSegment(websiteId: string, changes: Partial<SegmentFields> = {}): Promise<Segment> {
  const created = await t.registry.createSegment(websiteId, fields(changes), testActor);
  if (!created) throw new Error('No website');
  return created;
}

test('a segment is found as it was created, by its own website only', async () => {
  const [site, other] = [await newSite(), await newSite()];
  const created = await newSegment(site, { parameters: { filters: [{ value: '購物 😀' }] } });
  expect(created).toMatchObject({ websiteId: site, parameters: { filters: [{ value: '購物 😀' }] } });
  expect(await t.registry.findSegment(site, created.id)).toEqual(created);
  expect(await t.registry.findSegment(site, created.id.toUpperCase())).toEqual(created);
  for (const [websiteId, id] of [
    [other, created.id],
    [site, randomUUID()],
    [site, "x' OR 1=1"],
  ] as const) {
    expect(await t.registry.findSegment(websiteId, id)).toBeNull();
    expect(await t.registry.updateSegment(websiteId, id, fields({ name: 'Taken' }), testActor)).toBeNull();
    expect(await t.registry.deleteSegment(websiteId, id, testActor)).toBe(false);
  }
  expect(await t.registry.findSegment(site, created.id)).toEqual(created);
});

test('a change replaces everything and moves updatedAt forward; what is deleted is gone', async () => {
  const site = await newSite();
  const { id, ...before } = await newSegment(site);
  const changes = fields({ type: 'cohort', name: 'New', parameters: { dateRange: 'all' } });
  const updated = await t.registry.updateSegment(site, id, changes, testActor);
  expect(updated).toEqual({ ...before, id, ...changes, updatedAt: expect.any(Date) });
  expect(updated?.updatedAt.getTime()).toBeGreaterThan(before.updatedAt.getTime());
  expect(await t.registry.deleteSegment(site, id, testActor)).toBe(true);
  expect(await t.registry.findSegment(site, id)).toBeNull();
});

test('the log of changes tells of a segment without its filters, which may be long', async () => {
  const site = await newSite();
  const { id } = await newSegment(site, { parameters: { filters: [{ name: 'path', value: '/a' }] } });
  await t.registry.updateSegment(site, id, fields({ type: 'cohort', name: 'New' }), testActor);
  const { rows } = await t.registry.listAuditEntries({ page: 1, pageSize: 20, subjectId: id });
  expect(rows.map(({ action, details }) => [action, details])).toEqual([
    ['segment.update', { websiteId: site, type: 'cohort', name: 'New' }],
    ['segment.create', { websiteId: site, type: 'segment', name: 'Buyers' }],
  ]);
});

test('a list has one type of one website, sorted as people sort, searched in any letter case, in pages', async () => {
  const site = await newSite();
  for (const name of ['b', 'Ärger', 'A', 'c%']) await newSegment(site, { name });
  await newSegment(site, { type: 'cohort', name: 'a cohort' });
  await newSegment(await newSite(), { name: 'a foreign one' });
  const list = async (request: object = {}) => {
    const page = { websiteId: site, type: 'segment', page: 1, pageSize: 20, ...request } as const;
    const { rows, count } = await t.registry.listSegments(page);
    return [count, ...rows.map((row) => row.name)];
  };
  expect(await list()).toEqual([4, 'A', 'Ärger', 'b', 'c%']);
  expect(await list({ page: 2, pageSize: 3 })).toEqual([4, 'c%']);
  expect(await list({ search: 'äR' })).toEqual([1, 'Ärger']);
  expect(await list({ search: '%' })).toEqual([1, 'c%']);
  expect(await list({ type: 'cohort' })).toEqual([1, 'a cohort']);
});

test('NUL is removed and half a surrogate pair replaced, at any depth: Postgres would refuse both', async () => {
  const site = await newSite();
  const text = { name: 'a\0\ud83d', parameters: { filters: [{ value: 'a\0\ud83d' }] } };
  expect(await newSegment(site, text)).toMatchObject({
    name: 'a\ufffd',
    parameters: { filters: [{ value: 'a\ufffd' }] },
  });
});

test('once a website is purged its segments are gone; those of others stay', async () => {
  const [site, other] = [await newSite(), await newSite()];
  const [gone, kept] = [await newSegment(site), await newSegment(other)];
  await t.registry.markWebsitePurged(other);
  await t.registry.deleteWebsite(site, testActor);
  await t.registry.markWebsitePurged(site);
  expect(await t.registry.findSegment(site, gone.id)).toBeNull();
  expect(await t.registry.findSegment(other, kept.id)).toEqual(kept);
});

test('a website that is unknown, deleted or being deleted gets no segment', async () => {
  const [deleted, vanishing] = [await newSite(), await newSite()];
  const create = (websiteId: string) => t.registry.createSegment(websiteId, fields(), testActor);
  await t.registry.deleteWebsite(deleted, testActor);
  for (const websiteId of [deleted, randomUUID(), 'x']) expect(await create(websiteId)).toBeNull();

  await t.sql('BEGIN');
  await t.sql('UPDATE website SET deleted_at = now() WHERE id = $1', [vanishing]);
  const created = create(vanishing);
  const waiting = 'SELECT DISTINCT pid FROM pg_locks WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))';
  await expect.poll(() => t.sql(waiting), { timeout: 30_000 }).toHaveLength(1);
  await t.sql('COMMIT');
  expect(await created).toBeNull();
});

test('segments made while their website is deleted do not outlive its purge', async () => {
  const round = async () => {
    const site = await newSite();
    await Promise.all([
      t.registry.createSegment(site, fields(), testActor),
      t.registry.deleteWebsite(site, testActor).then(() => t.registry.markWebsitePurged(site)),
    ]);
    expect(await t.sql('SELECT id FROM segment WHERE website_id = $1', [site])).toEqual([]);
  };
  for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 10 }, round));
});
