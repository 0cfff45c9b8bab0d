import { and, asc, count, eq, isNull, sql } from 'drizzle-orm';
import { recordChange } from './audit.ts';
import type { Database } from './database.ts';
import { lockTeamsOnlyOwnedBy, lockUser } from './locks.ts';
import { contains, pageOf, sortedBy } from './paging.ts';
import { violatedConstraint } from './registry-error.ts';
import type { Actor, NewUser, Page, PageRequest, User, UserChanges, UserCredentials, WebsitePlace } from './rows.ts';
import { apiKey, teamUser, userAccount, website } from './schema.ts';
import { isUuid } from './uuid.ts';

/** What a `User` is read from. */
export const userColumns = {
  id: userAccount.id,
  username: userAccount.username,
  role: userAccount.role,
  homeRegion: userAccount.homeRegion,
  createdAt: userAccount.createdAt,
  updatedAt: userAccount.updatedAt,
};
const credentialColumns = {
  ...userColumns,
  passwordHash: userAccount.passwordHash,
  sessionGeneration: userAccount.sessionGeneration,
};
const notDeleted = isNull(userAccount.deletedAt);
/** Of websites that go with an account or a team. */
export const deletedWebsiteColumns = {
  id: website.id,
  region: website.region,
  name: website.name,
  domain: website.domain,
};

/** Two names with one key are the same name. Made here, because `lower()` depends on the database's locale. */
function usernameKey(username: string): string {
  return username.normalize('NFC').toLowerCase();
}

type CreateUserResult = { ok: true; user: User } | { ok: false; reason: 'username_taken' | 'user_id_taken' };

export async function createUser(db: Database, user: NewUser, by: Actor): Promise<CreateUserResult> {
  try {
    return await db.transaction(async (tx) => {
      const [created] = await tx
        .insert(userAccount)
        .values({ ...user, usernameKey: usernameKey(user.username) })
        .returning(userColumns);
      if (!created) throw new Error('INSERT returned no row');
      await recordChange(tx, by, 'user.create', created.id, { username: created.username, role: created.role });
      return { ok: true, user: created };
    });
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint === 'user_account_username_key') return { ok: false, reason: 'username_taken' };
    if (constraint === 'user_account_pkey') return { ok: false, reason: 'user_id_taken' };
    throw error;
  }
}

/** Letter case does not matter. Null also for a deleted user. */
export async function findUserByUsername(db: Database, username: string): Promise<UserCredentials | null> {
  const key = usernameKey(username);
  const [found] = await db.select(credentialColumns).from(userAccount).where(eq(userAccount.usernameKey, key));
  return found ?? null;
}

/** Null also for a deleted user and for an id that is no UUID. */
export async function findUserById(db: Database, id: string): Promise<User | null> {
  if (!isUuid(id)) return null;
  const [found] = await db
    .select(userColumns)
    .from(userAccount)
    .where(and(eq(userAccount.id, id), notDeleted));
  return found ?? null;
}

type UpdateUserResult =
  | { ok: true; user: User }
  | { ok: false; reason: 'username_taken' | 'user_not_found' | 'last_administrator' };

export async function updateUser(db: Database, id: string, changes: UserChanges, by: Actor): Promise<UpdateUserResult> {
  if (!isUuid(id)) return { ok: false, reason: 'user_not_found' };
  const { username, role, passwordHash } = changes;
  try {
    return await db.transaction(async (tx) => {
      if (role !== undefined && role !== 'admin' && (await isLastAdministrator(tx, id)))
        return { ok: false, reason: 'last_administrator' };
      const [updated] = await tx
        .update(userAccount)
        .set({
          ...changes,
          ...(username !== undefined && { usernameKey: usernameKey(username) }),
          ...(passwordHash !== undefined && { sessionGeneration: sql`${userAccount.sessionGeneration} + 1` }),
          updatedAt: sql`now()`,
        })
        .where(and(eq(userAccount.id, id), notDeleted))
        .returning(userColumns);
      if (!updated) return { ok: false, reason: 'user_not_found' };
      const details = { username, role, ...(passwordHash !== undefined && { password: 'changed' }) };
      await recordChange(tx, by, 'user.update', updated.id, details);
      return { ok: true, user: updated };
    });
  } catch (error) {
    if (violatedConstraint(error) === 'user_account_username_key') return { ok: false, reason: 'username_taken' };
    throw error;
  }
}

/**
 * Locks every administrator, so that of two changes at once the second sees the first. To be called before another
 * account is locked.
 */
async function isLastAdministrator(tx: Database, id: string): Promise<boolean> {
  const administrators = await tx
    .select({ id: userAccount.id })
    .from(userAccount)
    .where(and(eq(userAccount.role, 'admin'), notDeleted))
    .orderBy(asc(userAccount.id))
    .for('update');
  return administrators.length === 1 && administrators[0]?.id === id.toLowerCase();
}

export type DeleteUserResult =
  | { ok: true; websites: WebsitePlace[] }
  | { ok: false; reason: 'user_not_found' | 'last_administrator' }
  /** These teams would have no owner left. */
  | { ok: false; reason: 'last_owner'; teamIds: string[] };

/**
 * Deletes the user with their keys, team memberships and personal websites, in one transaction. Answers the websites,
 * whose events are still to be purged.
 */
export async function deleteUser(db: Database, id: string, by: Actor): Promise<DeleteUserResult> {
  return db.transaction(async (tx) => {
    if (await isLastAdministrator(tx, id)) return { ok: false, reason: 'last_administrator' };
    if (!(await lockUser(tx, id, 'update'))) return { ok: false, reason: 'user_not_found' };
    const teamIds = await lockTeamsOnlyOwnedBy(tx, id);
    if (teamIds.length > 0) return { ok: false, reason: 'last_owner', teamIds };
    const [deleted] = await tx
      .update(userAccount)
      .set({ deletedAt: sql`now()`, usernameKey: null, passwordHash: '' })
      .where(eq(userAccount.id, id))
      .returning({ username: userAccount.username });
    const keys = await tx.delete(apiKey).where(eq(apiKey.userId, id)).returning();
    await tx.delete(teamUser).where(eq(teamUser.userId, id));
    const websites = await tx
      .update(website)
      .set({ deletedAt: sql`now()`, shareId: null })
      .where(and(eq(website.userId, id), isNull(website.deletedAt)))
      .returning(deletedWebsiteColumns);
    for (const { id: keyId, name, keyPrefix, userId } of keys)
      await recordChange(tx, by, 'api-key.delete', keyId, { name, keyPrefix, userId });
    for (const { id: websiteId, name, domain } of websites)
      await recordChange(tx, by, 'website.delete', websiteId, { name, domain });
    const websiteIds = websites.map((row) => row.id);
    await recordChange(tx, by, 'user.delete', id.toLowerCase(), { username: deleted?.username, websiteIds });
    return { ok: true, websites: websites.map(({ id: websiteId, region }) => ({ id: websiteId, region })) };
  });
}

export async function countUsers(db: Database): Promise<number> {
  const [row] = await db.select({ count: count() }).from(userAccount).where(notDeleted);
  return row?.count ?? 0;
}

/** By username, ties by id. */
export async function listUsers(db: Database, request: PageRequest): Promise<Page<User>> {
  const matching = and(notDeleted, contains([userAccount.username], request.search));
  return pageOf(request, {
    count: () => db.$count(userAccount, matching),
    rows: (limit, offset) =>
      db
        .select(userColumns)
        .from(userAccount)
        .where(matching)
        .orderBy(...sortedBy(userAccount.username, userAccount.id))
        .limit(limit)
        .offset(offset),
  });
}
