import { and, eq } from 'drizzle-orm';
import { recordChange } from './audit.ts';
import { laterThan } from './columns.ts';
import type { Database } from './database.ts';
import { lockWebsite } from './locks.ts';
import { contains, pageOf, sortedBy } from './paging.ts';
import type { Actor, Page, Segment, SegmentFields, SegmentListRequest } from './rows.ts';
import { segment } from './schema.ts';
import { isUuid } from './uuid.ts';

/** Null for an unknown or deleted website and for an id that is no UUID. */
export async function createSegment(
  db: Database,
  websiteId: string,
  fields: SegmentFields,
  by: Actor,
): Promise<Segment | null> {
  return db.transaction(async (tx) => {
    // A segment made while the website is being purged would be left over.
    if (!(await lockWebsite(tx, websiteId))) return null;
    const [created] = await tx
      .insert(segment)
      .values({ ...fields, websiteId })
      .returning();
    if (!created) throw new Error('INSERT returned no row');
    await recordChange(tx, by, 'segment.create', created.id, toDetails(created));
    return created;
  });
}

/** Null for an unknown id, one that is no UUID, and one of another website. */
export async function findSegment(db: Database, websiteId: string, id: string): Promise<Segment | null> {
  if (!isUuid(id)) return null;
  const [found] = await db.select().from(segment).where(isSegment(websiteId, id));
  return found ?? null;
}

/** By name as people sort it, equal names by id. */
export async function listSegments(db: Database, request: SegmentListRequest): Promise<Page<Segment>> {
  const matching = and(
    eq(segment.websiteId, request.websiteId),
    eq(segment.type, request.type),
    contains([segment.name], request.search),
  );
  return pageOf(request, {
    count: () => db.$count(segment, matching),
    rows: (limit, offset) =>
      db
        .select()
        .from(segment)
        .where(matching)
        .orderBy(...sortedBy(segment.name, segment.id))
        .limit(limit)
        .offset(offset),
  });
}

/** Replaces type, name and parameters. Null where `findSegment` finds none. */
export async function updateSegment(
  db: Database,
  websiteId: string,
  id: string,
  fields: SegmentFields,
  by: Actor,
): Promise<Segment | null> {
  if (!isUuid(id)) return null;
  return db.transaction(async (tx) => {
    const [updated] = await tx
      .update(segment)
      .set({ ...fields, updatedAt: laterThan(segment.updatedAt) })
      .where(isSegment(websiteId, id))
      .returning();
    if (!updated) return null;
    await recordChange(tx, by, 'segment.update', updated.id, toDetails(updated));
    return updated;
  });
}

/** False where `findSegment` finds none. */
export async function deleteSegment(db: Database, websiteId: string, id: string, by: Actor): Promise<boolean> {
  if (!isUuid(id)) return false;
  return db.transaction(async (tx) => {
    const [deleted] = await tx.delete(segment).where(isSegment(websiteId, id)).returning();
    if (!deleted) return false;
    await recordChange(tx, by, 'segment.delete', deleted.id, { websiteId, name: deleted.name });
    return true;
  });
}

/** Without the filters, which may be long, while the log of changes is kept for ever. */
const toDetails = ({ websiteId, type, name }: Segment) => ({ websiteId, type, name });

const isSegment = (websiteId: string, id: string) => and(eq(segment.id, id), eq(segment.websiteId, websiteId));
