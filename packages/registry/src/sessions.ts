import { and, eq, isNull, lt, notExists, sql } from 'drizzle-orm';
import type { Database } from './database.ts';
import type { User } from './rows.ts';
import { endedSession, userAccount } from './schema.ts';
import { userColumns } from './users.ts';
import { isUuid } from './uuid.ts';

export type Session = {
  /** The session's own id (a UUID). */
  id: string;
  userId: string;
  /** `sessionGeneration` of the user when the session began. */
  generation: number;
};

/** The user of a session that was not ended by a logout, a password change or the user's deletion; else null. */
export async function findSessionUser(db: Database, session: Session): Promise<User | null> {
  if (!isUuid(session.id) || !isUuid(session.userId)) return null;
  const [found] = await db
    .select(userColumns)
    .from(userAccount)
    .where(
      and(
        eq(userAccount.id, session.userId),
        eq(userAccount.sessionGeneration, session.generation),
        isNull(userAccount.deletedAt),
        notExists(db.select({ one: sql`1` }).from(endedSession).where(eq(endedSession.id, session.id))),
      ),
    );
  return found ?? null;
}

/** Ends one session at once; remembered until `expiresAt`, when it would end by itself. Forgets those that expired. */
export async function endSession(db: Database, sessionId: string, expiresAt: Date): Promise<void> {
  await db.insert(endedSession).values({ id: sessionId, expiresAt }).onConflictDoNothing();
  await db.delete(endedSession).where(lt(endedSession.expiresAt, sql`now()`));
}
