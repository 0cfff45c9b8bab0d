import { and, desc, eq, gte, lt, or, sql } from 'drizzle-orm';
import { withoutNul } from './columns.ts';
import type { Database } from './database.ts';
import { contains, pageOf } from './paging.ts';
import type { Actor, AuditAction, AuditEntry, AuditRequest, Page } from './rows.ts';
import { auditEntry } from './schema.ts';
import { isUuid } from './uuid.ts';

/**
 * Writes down one change, in the transaction that makes it: there is no change without its entry and no entry without
 * its change. `details` are given without passwords, keys and access codes; slugs of links are left out here.
 */
export async function recordChange(
  tx: Database,
  by: Actor,
  action: AuditAction,
  subjectId: string,
  details: Record<string, unknown> = {},
): Promise<void> {
  const { userId: actorUserId, name: actorName, keyId: actorKeyId, requestId } = by;
  await tx.insert(auditEntry).values({
    actorUserId,
    actorName,
    actorKeyId,
    requestId,
    action,
    subjectId,
    details: withoutSlugs(action, details),
  });
}

/**
 * Who knows the slug of a link reads the statistics, and a website's share id is one. Told is only that it was set,
 * changed or removed.
 */
function withoutSlugs(
  action: AuditAction,
  { slug, shareId, ...details }: Record<string, unknown>,
): Record<string, unknown> {
  if (slug !== undefined && action === 'share.update') return { ...details, slug: 'changed' };
  if (typeof shareId === 'string') return { ...details, shareId: 'set' };
  if (shareId === null && action === 'website.update') return { ...details, shareId: 'removed' };
  return details;
}

/** Of the subject itself, or of what belongs to it when it is a website: its links and segments. */
function isAbout(id: string) {
  return or(eq(auditEntry.subjectId, id), sql`${auditEntry.details} ->> 'websiteId' = ${withoutNul(id)}`);
}

/** Newest first. `search` looks into actors' names and actions. An id that is none finds nothing. */
export async function listAuditEntries(db: Database, request: AuditRequest): Promise<Page<AuditEntry>> {
  const { actorUserId, actorName, subjectId, action, from, to, search } = request;
  if (actorUserId !== undefined && !isUuid(actorUserId)) return { rows: [], count: 0 };
  const matching = and(
    actorUserId === undefined ? undefined : eq(auditEntry.actorUserId, actorUserId),
    actorName === undefined ? undefined : eq(auditEntry.actorName, actorName),
    subjectId === undefined ? undefined : isAbout(subjectId.toLowerCase()),
    action === undefined ? undefined : sql`${auditEntry.action} = ${withoutNul(action)}`,
    from && gte(auditEntry.at, from),
    to && lt(auditEntry.at, to),
    contains([auditEntry.actorName, auditEntry.action], search),
  );
  const page = await pageOf(request, {
    count: () => db.$count(auditEntry, matching),
    rows: (limit, offset) =>
      db.select().from(auditEntry).where(matching).orderBy(desc(auditEntry.id)).limit(limit).offset(offset),
  });
  const rows = page.rows.map(
    ({ actorUserId: userId, actorName: name, actorKeyId: keyId, requestId, details, ...entry }): AuditEntry => ({
      ...entry,
      actor: { userId, name, keyId, requestId },
      details: details as Record<string, unknown>,
    }),
  );
  return { rows, count: page.count };
}
