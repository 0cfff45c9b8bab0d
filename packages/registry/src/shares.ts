import { and, desc, eq, isNull, sql } from 'drizzle-orm';
import { recordChange } from './audit.ts';
import { laterThan } from './columns.ts';
import type { Database } from './database.ts';
import { contains, pageOf } from './paging.ts';
import { violatedConstraint } from './registry-error.ts';
import type { Actor, Page, Share, ShareChanges, ShareFields, ShareListRequest } from './rows.ts';
import { share, website } from './schema.ts';
import { isUuid } from './uuid.ts';

type CreateShareResult = { ok: true; share: Share } | { ok: false; reason: 'website_not_found' | 'share_id_taken' };

/** The new link is the website's newest: `shareId` of the website becomes its slug. */
export async function createShare(
  db: Database,
  websiteId: string,
  fields: ShareFields,
  by: Actor,
): Promise<CreateShareResult> {
  if (!isUuid(websiteId)) return { ok: false, reason: 'website_not_found' };
  return unlessTaken(() =>
    db.transaction(async (tx) => {
      if (!(await holdWebsite(tx, websiteId))) return { ok: false, reason: 'website_not_found' };
      const [created] = await tx
        .insert(share)
        .values({ ...fields, websiteId, createdAt: laterThanOthers(websiteId) })
        .returning();
      if (!created) throw new Error('INSERT returned no row');
      await setShareId(tx, websiteId, created.slug);
      await recordChange(tx, by, 'share.create', created.id, { websiteId: created.websiteId, ...fields });
      return { ok: true, share: created };
    }),
  );
}

/** Null for an unknown id, one that is no UUID, and a link of a deleted website. */
export async function findShare(db: Database, id: string): Promise<Share | null> {
  if (!isUuid(id)) return null;
  const [found] = await db
    .select({ share })
    .from(share)
    .innerJoin(website, eq(website.id, share.websiteId))
    .where(and(eq(share.id, id), isNull(website.deletedAt)));
  return found?.share ?? null;
}

/** Null where no link of a website ends in `slug`. */
export async function findShareBySlug(db: Database, slug: string): Promise<Share | null> {
  const [found] = await db
    .select({ share })
    .from(share)
    .innerJoin(website, eq(website.id, share.websiteId))
    .where(and(eq(share.slug, slug), isNull(website.deletedAt)));
  return found?.share ?? null;
}

/** Newest first. */
export async function listShares(db: Database, request: ShareListRequest): Promise<Page<Share>> {
  const matching = and(eq(share.websiteId, request.websiteId), contains([share.name, share.slug], request.search));
  return pageOf(request, {
    count: () => db.$count(share, matching),
    rows: (limit, offset) =>
      db
        .select()
        .from(share)
        .where(matching)
        .orderBy(desc(share.createdAt), desc(share.id))
        .limit(limit)
        .offset(offset),
  });
}

type UpdateShareResult = { ok: true; share: Share } | { ok: false; reason: 'share_not_found' | 'share_id_taken' };

/** `shareId` of the website follows where it is this link's slug. */
export async function updateShare(
  db: Database,
  websiteId: string,
  id: string,
  changes: ShareChanges,
  by: Actor,
): Promise<UpdateShareResult> {
  if (!isUuid(id) || !isUuid(websiteId)) return { ok: false, reason: 'share_not_found' };
  const { name, slug, parameters } = changes;
  return unlessTaken(() =>
    db.transaction(async (tx) => {
      const held = await holdWebsite(tx, websiteId);
      const [before] = await tx.select({ slug: share.slug }).from(share).where(isShare(websiteId, id));
      if (!held || !before) return { ok: false, reason: 'share_not_found' };
      const [updated] = await tx
        .update(share)
        .set({ name, slug, parameters, updatedAt: laterThan(share.updatedAt) })
        .where(isShare(websiteId, id))
        .returning();
      if (!updated) throw new Error('UPDATE returned no row');
      if (held.current === before.slug && updated.slug !== before.slug) await setShareId(tx, websiteId, updated.slug);
      await recordChange(tx, by, 'share.update', updated.id, {
        websiteId: updated.websiteId,
        name,
        slug,
        parameters,
      });
      return { ok: true, share: updated };
    }),
  );
}

/**
 * `shareId` of the website becomes the slug of the newest link that is left, null without one. False for an unknown
 * link.
 */
export async function deleteShare(db: Database, websiteId: string, id: string, by: Actor): Promise<boolean> {
  if (!isUuid(id) || !isUuid(websiteId)) return false;
  return db.transaction(async (tx) => {
    const held = await holdWebsite(tx, websiteId);
    const [deleted] = await tx.delete(share).where(isShare(websiteId, id)).returning();
    if (!deleted) return false;
    if (held?.current === deleted.slug) await setShareId(tx, websiteId, await newestSlug(tx, websiteId));
    const { name, slug } = deleted;
    await recordChange(tx, by, 'share.delete', deleted.id, { websiteId: deleted.websiteId, name, slug });
    return true;
  });
}

const isShare = (websiteId: string, id: string) => and(eq(share.id, id), eq(share.websiteId, websiteId));

/**
 * The website's share id, null for a website that is deleted or unknown. Until the transaction ends nobody else changes
 * it or the website's links: whoever does both takes the website first.
 */
async function holdWebsite(tx: Database, id: string): Promise<{ current: string | null } | null> {
  const [held] = await tx
    .select({ current: website.shareId })
    .from(website)
    .where(and(eq(website.id, id), isNull(website.deletedAt)))
    .for('update');
  return held ?? null;
}

/** Whether a link of the website has this slug that is not its newest. Until the transaction ends that stays so. */
export async function isSlugOfOlderLink(tx: Database, websiteId: string, slug: string): Promise<boolean> {
  const held = await holdWebsite(tx, websiteId);
  if (held?.current === slug) return false;
  return (await tx.$count(share, and(eq(share.websiteId, websiteId), eq(share.slug, slug)))) > 0;
}

/** The trigger `keep_shares` finds that there is such a link, or that none is left, and changes nothing. */
async function setShareId(tx: Database, websiteId: string, slug: string | null): Promise<void> {
  await tx
    .update(website)
    .set({ shareId: slug, updatedAt: laterThan(website.updatedAt) })
    .where(eq(website.id, websiteId));
}

async function newestSlug(tx: Database, websiteId: string): Promise<string | null> {
  const [newest] = await tx
    .select({ slug: share.slug })
    .from(share)
    .where(eq(share.websiteId, websiteId))
    .orderBy(desc(share.createdAt), desc(share.id))
    .limit(1);
  return newest?.slug ?? null;
}

/**
 * So that there is always one newest link, also of two made at once: now() is when a transaction began, which may be
 * before another one's.
 */
function laterThanOthers(websiteId: string) {
  return sql`greatest(clock_timestamp(), (SELECT max(created_at) + interval '1 millisecond' FROM share WHERE website_id = ${websiteId}))`;
}

async function unlessTaken<Result>(
  change: () => Promise<Result>,
): Promise<Result | { ok: false; reason: 'share_id_taken' }> {
  try {
    return await change();
  } catch (error) {
    if (violatedConstraint(error) === 'share_slug') return { ok: false, reason: 'share_id_taken' };
    throw error;
  }
}
