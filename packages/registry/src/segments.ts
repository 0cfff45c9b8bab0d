import { and, eq, sql } from 'drizzle-orm';
import type { Database } from './database.ts';
import { contains, pageOf, sortedBy } from './paging.ts';
import type { Page, Segment, SegmentFields, SegmentListRequest } from './rows.ts';
import { segment } from './schema.ts';
import { isUuid } from './uuid.ts';

/** The website must exist. */
export async function createSegment(db: Database, websiteId: string, fields: SegmentFields): Promise<Segment> {
  const [created] = await db
    .insert(segment)
    .values({ ...fields, websiteId })
    .returning();
  if (!created) throw new Error('INSERT returned no row');
  return created;
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
): Promise<Segment | null> {
  if (!isUuid(id)) return null;
  const updatedAt = sql`greatest(now(), ${segment.updatedAt} + interval '1 millisecond')`;
  const [updated] = await db
    .update(segment)
    .set({ ...fields, updatedAt })
    .where(isSegment(websiteId, id))
    .returning();
  return updated ?? null;
}

/** False where `findSegment` finds none. */
export async function deleteSegment(db: Database, websiteId: string, id: string): Promise<boolean> {
  if (!isUuid(id)) return false;
  const deleted = await db.delete(segment).where(isSegment(websiteId, id)).returning({ id: segment.id });
  return deleted.length > 0;
}

const isSegment = (websiteId: string, id: string) => and(eq(segment.id, id), eq(segment.websiteId, websiteId));
