import { and, asc, eq, isNull, lt, or } from 'drizzle-orm';
import { recordChange } from './audit.ts';
import type { Database } from './database.ts';
import type { Actor, ApiKey, NewApiKey, User } from './rows.ts';
import { apiKey, userAccount } from './schema.ts';
import { userColumns } from './users.ts';
import { isUuid } from './uuid.ts';

const keyColumns = {
  id: apiKey.id,
  userId: apiKey.userId,
  name: apiKey.name,
  keyPrefix: apiKey.keyPrefix,
  createdAt: apiKey.createdAt,
  lastUsedAt: apiKey.lastUsedAt,
};

export async function createApiKey(db: Database, key: NewApiKey, by: Actor): Promise<ApiKey> {
  return db.transaction(async (tx) => {
    const [created] = await tx.insert(apiKey).values(key).returning(keyColumns);
    if (!created) throw new Error('INSERT returned no row');
    const { id, name, keyPrefix, userId } = created;
    await recordChange(tx, by, 'api-key.create', id, { name, keyPrefix, userId });
    return created;
  });
}

/** Oldest first. */
export async function listApiKeys(db: Database, userId: string): Promise<ApiKey[]> {
  return db
    .select(keyColumns)
    .from(apiKey)
    .where(eq(apiKey.userId, userId))
    .orderBy(asc(apiKey.createdAt), asc(apiKey.id));
}

/** False when the user has no such key. */
export async function deleteApiKey(db: Database, userId: string, id: string, by: Actor): Promise<boolean> {
  if (!isUuid(id)) return false;
  return db.transaction(async (tx) => {
    const [deleted] = await tx
      .delete(apiKey)
      .where(and(eq(apiKey.id, id), eq(apiKey.userId, userId)))
      .returning(keyColumns);
    if (!deleted) return false;
    const { name, keyPrefix } = deleted;
    await recordChange(tx, by, 'api-key.delete', deleted.id, { name, keyPrefix, userId });
    return true;
  });
}

type KeyCaller = { user: User; key: { id: string; name: string } };

/** Whose key has this SHA-256; null for an unknown or deleted key and for the key of a deleted user. */
export async function findCallerByKeyHash(db: Database, keyHash: Buffer): Promise<KeyCaller | null> {
  const [found] = await db
    .select({
      user: userColumns,
      key: { id: apiKey.id, name: apiKey.name },
    })
    .from(apiKey)
    .innerJoin(userAccount, eq(userAccount.id, apiKey.userId))
    .where(and(eq(apiKey.keyHash, keyHash), isNull(userAccount.deletedAt)));
  return found ?? null;
}

/** Notes that the key was used at `at`, unless a use within the minute before is noted already. */
export async function touchApiKey(db: Database, id: string, at: Date): Promise<void> {
  const minuteBefore = new Date(at.getTime() - 60_000);
  await db
    .update(apiKey)
    .set({ lastUsedAt: at })
    .where(and(eq(apiKey.id, id), or(isNull(apiKey.lastUsedAt), lt(apiKey.lastUsedAt, minuteBefore))));
}
