import { and, eq, inArray, isNotNull, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import { recordChange } from './audit.ts';
import { laterThan } from './columns.ts';
import type { Database } from './database.ts';
import { lockTeam, lockUser } from './locks.ts';
import { contains, pageOf, sortedBy } from './paging.ts';
import { violatedConstraint } from './registry-error.ts';
import type {
  Actor,
  NewWebsite,
  Page,
  ReplayConfig,
  Website,
  WebsiteChanges,
  WebsiteListRequest,
  WebsiteOwners,
  WebsiteStatus,
  WebsiteTarget,
} from './rows.ts';
import { segment, website } from './schema.ts';
import { isSlugOfOlderLink } from './shares.ts';
import { isUuid } from './uuid.ts';

const defaultReplayConfig: ReplayConfig = {
  replayEnabled: false,
  heatmapEnabled: false,
  sampleRate: 0,
  heatmapSampleRate: 0,
  maskLevel: 'strict',
  blockSelector: '',
  maxDuration: 0,
};

const websiteColumns = {
  id: website.id,
  name: website.name,
  domain: website.domain,
  shareId: website.shareId,
  teamId: website.teamId,
  userId: website.userId,
  createdBy: website.createdBy,
  region: website.region,
  replayConfig: website.replayConfig,
  resetAt: website.resetAt,
  pendingResetAt: website.pendingResetAt,
  createdAt: website.createdAt,
  updatedAt: website.updatedAt,
  /** Asked for in a subquery, so that INSERT and UPDATE can return it as well. */
  ownerName: sql<string>`(SELECT username FROM user_account owner WHERE owner.id = coalesce(website.user_id, website.created_by))`,
};
const notDeleted = isNull(website.deletedAt);
/** A share id is that of no other website, and no other website's link has it. */
const shareConstraints = ['website_share_id', 'share_slug'];

type StoredWebsite = Omit<Website, 'owner' | 'replayConfig'> & {
  ownerName: string;
  replayConfig: Partial<ReplayConfig>;
};

function toWebsite({ ownerName, replayConfig, ...stored }: StoredWebsite): Website {
  return {
    ...stored,
    replayConfig: { ...defaultReplayConfig, ...replayConfig },
    owner: { id: stored.userId ?? stored.createdBy, username: ownerName },
  };
}

type CreateWebsiteResult =
  | { ok: true; website: Website }
  | { ok: false; reason: 'website_id_taken' | 'share_id_taken' | 'team_not_found' | 'user_not_found' };

/** The id of a deleted website counts as taken. `user_not_found`: who creates it was deleted meanwhile. */
export async function createWebsite(db: Database, input: NewWebsite, by: Actor): Promise<CreateWebsiteResult> {
  const { teamId, createdBy } = input;
  try {
    return await db.transaction(async (tx) => {
      if (!(await lockUser(tx, createdBy))) return { ok: false, reason: 'user_not_found' };
      if (typeof teamId === 'string' && !(await lockTeam(tx, teamId, 'share')))
        return { ok: false, reason: 'team_not_found' };
      const [created] = await tx.insert(website).values(input).returning(websiteColumns);
      if (!created) throw new Error('INSERT returned no row');
      const { id, name, domain, shareId, region } = created;
      await recordChange(tx, by, 'website.create', id, { name, domain, teamId: created.teamId, shareId, region });
      return { ok: true, website: toWebsite(created) };
    });
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint === 'website_pkey') return { ok: false, reason: 'website_id_taken' };
    if (constraint !== null && shareConstraints.includes(constraint)) return { ok: false, reason: 'share_id_taken' };
    throw error;
  }
}

/** Null for an unknown or deleted website and for an id that is no UUID. */
export async function findWebsite(db: Database, id: string): Promise<Website | null> {
  if (!isUuid(id)) return null;
  const [found] = await db
    .select(websiteColumns)
    .from(website)
    .where(and(eq(website.id, id), notDeleted));
  return found ? toWebsite(found) : null;
}

/** Null for an id that was never given to a website; a deleted website is found, as `deleted`. */
export async function findWebsiteStatus(db: Database, id: string): Promise<WebsiteStatus | null> {
  return (await findWebsiteStatuses(db, [id])).get(id) ?? null;
}

/** By id as given, those of `ids` for which `findWebsiteStatus` would find one. One query for any number of them. */
export async function findWebsiteStatuses(db: Database, ids: readonly string[]): Promise<Map<string, WebsiteStatus>> {
  const known = ids.filter(isUuid);
  if (known.length === 0) return new Map();
  const found = await db
    .select({ id: website.id, region: website.region, resetAt: website.resetAt, deletedAt: website.deletedAt })
    .from(website)
    .where(sql`${website.id} = any(${sql.param(known)}::uuid[])`); // one parameter: a query can carry 65,535
  const stored = new Map(found.map((row) => [row.id, row]));
  const statuses = new Map<string, WebsiteStatus>();
  for (const id of known) {
    const row = stored.get(id.toLowerCase());
    if (row) statuses.set(id, { region: row.region, resetAt: row.resetAt, deleted: row.deletedAt !== null });
  }
  return statuses;
}

/** Sorted by `orderBy` (text as people sort it), equal values by id. */
export async function listWebsites(db: Database, request: WebsiteListRequest): Promise<Page<Website>> {
  const matching = and(
    isOf(request.of),
    notDeleted,
    eq(website.region, request.region),
    contains([website.name, website.domain], request.search),
  );
  const page = await pageOf(request, {
    count: () => db.$count(website, matching),
    rows: (limit, offset) =>
      db
        .select(websiteColumns)
        .from(website)
        .where(matching)
        .orderBy(...sortedBy(website[request.orderBy], website.id, request.descending))
        .limit(limit)
        .offset(offset),
  });
  return { ...page, rows: page.rows.map(toWebsite) };
}

/** Condition; of nobody is no website, not every one. */
function isOf(owners: WebsiteOwners): SQL | undefined {
  if (owners === 'everybody') return undefined;
  const { userId, teamIds = [] } = owners;
  return or(userId === undefined ? sql`false` : eq(website.userId, userId), inArray(website.teamId, teamIds));
}

type UpdateWebsiteResult =
  | { ok: true; website: Website }
  | { ok: false; reason: 'website_not_found' | 'share_id_taken' };

/** `updatedAt` moves forward even when nothing else changes. */
export async function updateWebsite(
  db: Database,
  id: string,
  changes: WebsiteChanges,
  by: Actor,
): Promise<UpdateWebsiteResult> {
  if (!isUuid(id)) return { ok: false, reason: 'website_not_found' };
  const { name, domain, shareId, replayConfig } = changes;
  try {
    return await db.transaction(async (tx) => {
      // It would be the share id beside a newer link, which stayed open unseen.
      if (typeof shareId === 'string' && (await isSlugOfOlderLink(tx, id, shareId)))
        return { ok: false, reason: 'share_id_taken' };
      const [updated] = await tx
        .update(website)
        .set({
          name,
          domain,
          shareId,
          replayConfig: replayConfig ? mergedReplayConfig(replayConfig) : replayConfig === null ? {} : undefined,
          updatedAt: laterThan(website.updatedAt),
        })
        .where(and(eq(website.id, id), notDeleted))
        .returning(websiteColumns);
      if (!updated) return { ok: false, reason: 'website_not_found' };
      await recordChange(tx, by, 'website.update', updated.id, { name, domain, shareId, replayConfig });
      return { ok: true, website: toWebsite(updated) };
    });
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint !== null && shareConstraints.includes(constraint)) return { ok: false, reason: 'share_id_taken' };
    throw error;
  }
}

/** Merged by Postgres, so that two updates at the same time keep each other's fields. */
function mergedReplayConfig(changes: NonNullable<WebsiteChanges['replayConfig']>) {
  return sql`${website.replayConfig} || ${sql.param(changes, website.replayConfig)}`;
}

type TransferWebsiteResult =
  | { ok: true; website: Website }
  | { ok: false; reason: 'website_not_found' | 'user_not_found' | 'team_not_found' };

/** Gives the website to an account or to a team. Its id, its data and its links stay, and so does who made it. */
export async function transferWebsite(
  db: Database,
  id: string,
  to: WebsiteTarget,
  by: Actor,
): Promise<TransferWebsiteResult> {
  if (!isUuid(id)) return { ok: false, reason: 'website_not_found' };
  return db.transaction(async (tx) => {
    if ('userId' in to && !(await lockUser(tx, to.userId))) return { ok: false, reason: 'user_not_found' };
    if ('teamId' in to && !(await lockTeam(tx, to.teamId, 'share'))) return { ok: false, reason: 'team_not_found' };
    const [before] = await tx
      .select({ userId: website.userId, teamId: website.teamId })
      .from(website)
      .where(and(eq(website.id, id), notDeleted))
      .for('update');
    if (!before) return { ok: false, reason: 'website_not_found' };
    const [moved] = await tx
      .update(website)
      .set({ userId: null, teamId: null, ...to, updatedAt: laterThan(website.updatedAt) })
      .where(eq(website.id, id))
      .returning(websiteColumns);
    if (!moved) throw new Error('UPDATE returned no row');
    const { userId, teamId } = moved;
    await recordChange(tx, by, 'website.transfer', moved.id, { userId, teamId, before });
    return { ok: true, website: toWebsite(moved) };
  });
}

/**
 * Leaves a tombstone: the id stays reserved for ever, the share id is free. False for an unknown or deleted website.
 */
export async function deleteWebsite(db: Database, id: string, by: Actor): Promise<boolean> {
  if (!isUuid(id)) return false;
  return db.transaction(async (tx) => {
    const [deleted] = await tx
      .update(website)
      .set({ deletedAt: sql`now()`, shareId: null })
      .where(and(eq(website.id, id), notDeleted))
      .returning({ id: website.id, name: website.name, domain: website.domain });
    if (!deleted) return false;
    const { name, domain } = deleted;
    await recordChange(tx, by, 'website.delete', deleted.id, { name, domain });
    return true;
  });
}

/** Everything collected before `at` no longer counts; an earlier `at` than the last one changes nothing. */
export async function resetWebsite(db: Database, id: string, at: Date, by: Actor): Promise<boolean> {
  if (!isUuid(id)) return false;
  const latest = sql`greatest(${website.resetAt}, ${sql.param(at, website.resetAt)})`;
  return db.transaction(async (tx) => {
    const [reset] = await tx
      .update(website)
      .set({ resetAt: latest, pendingResetAt: latest })
      .where(and(eq(website.id, id), notDeleted))
      .returning({ id: website.id, resetAt: website.resetAt });
    if (!reset) return false;
    await recordChange(tx, by, 'website.reset', reset.id, { resetAt: reset.resetAt });
    return true;
  });
}

/** Websites of a region whose last reset is not known to be completed: like `listUnpurgedWebsites`. */
export async function listPendingResets(db: Database, region: string): Promise<{ id: string; before: Date }[]> {
  const found = await db
    .select({ id: website.id, before: website.pendingResetAt })
    .from(website)
    .where(and(eq(website.region, region), isNotNull(website.pendingResetAt), notDeleted));
  return found.flatMap(({ id, before }) => (before ? [{ id, before }] : []));
}

/** Notes that nothing collected before the instant is stored any more. A later reset stays pending. */
export async function markWebsiteReset(db: Database, id: string, before: Date): Promise<void> {
  await db
    .update(website)
    .set({ pendingResetAt: null })
    .where(and(eq(website.id, id), lte(website.pendingResetAt, before)));
}

/**
 * Ids of the deleted websites of a region whose events may still be stored: a purge was ordered and lost, or never
 * ordered because the process died. Asked from time to time, so that every deletion is completed some day.
 */
export async function listUnpurgedWebsites(db: Database, region: string): Promise<string[]> {
  const found = await db
    .select({ id: website.id })
    .from(website)
    .where(and(eq(website.region, region), isNotNull(website.deletedAt), isNull(website.purgedAt)));
  return found.map((row) => row.id);
}

/** Notes that no event of the deleted website is stored any more, and removes what the registry itself keeps of it. */
export async function markWebsitePurged(db: Database, id: string): Promise<void> {
  const isDeleted = and(eq(website.id, id), isNotNull(website.deletedAt));
  const deletedWebsite = db.select({ id: website.id }).from(website).where(isDeleted);
  await db.delete(segment).where(inArray(segment.websiteId, deletedWebsite));
  await db.update(website).set({ purgedAt: sql`now()` }).where(isDeleted);
}
