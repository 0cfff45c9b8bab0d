import { and, asc, eq, inArray, isNull, ne, notExists, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { Database } from './database.ts';
import { team, teamUser, userAccount, website } from './schema.ts';
import { isUuid } from './uuid.ts';

/*
 * What a change presumes stays true until its transaction ends. Locks are taken in one order everywhere, so that no two
 * transactions wait for each other: accounts, then teams, then websites.
 */

/**
 * Keeps the account from being deleted meanwhile. False for an unknown or deleted one and for an id that is no UUID.
 */
export async function lockUser(tx: Database, id: string, strength: 'share' | 'update' = 'share'): Promise<boolean> {
  if (!isUuid(id)) return false;
  const found = await tx
    .select({ id: userAccount.id })
    .from(userAccount)
    .where(and(eq(userAccount.id, id), isNull(userAccount.deletedAt)))
    .for(strength);
  return found.length > 0;
}

/**
 * Keeps the team from being deleted meanwhile (`share`), or its members from being changed by anybody else as well
 * (`update`). False for an unknown or deleted team and for an id that is no UUID.
 */
export async function lockTeam(tx: Database, id: string, strength: 'share' | 'update'): Promise<boolean> {
  if (!isUuid(id)) return false;
  const found = await tx
    .select({ id: team.id })
    .from(team)
    .where(and(eq(team.id, id), isNull(team.deletedAt)))
    .for(strength);
  return found.length > 0;
}

/**
 * Keeps the website from being deleted meanwhile. False for an unknown or deleted one and for an id that is no UUID.
 */
export async function lockWebsite(tx: Database, id: string): Promise<boolean> {
  if (!isUuid(id)) return false;
  const found = await tx
    .select({ id: website.id })
    .from(website)
    .where(and(eq(website.id, id), isNull(website.deletedAt)))
    .for('share');
  return found.length > 0;
}

/** Locks every team that the account owns, as for `update`, and answers the ids of those that have no other owner. */
export async function lockTeamsOnlyOwnedBy(tx: Database, userId: string): Promise<string[]> {
  const owned = tx
    .select({ id: teamUser.teamId })
    .from(teamUser)
    .where(and(eq(teamUser.userId, userId), eq(teamUser.role, 'team-owner')));
  const locked = await tx
    .select({ id: team.id })
    .from(team)
    .where(and(inArray(team.id, owned), isNull(team.deletedAt)))
    .orderBy(asc(team.id))
    .for('update');
  if (locked.length === 0) return [];
  const other = alias(teamUser, 'other');
  const otherOwner = and(eq(other.teamId, teamUser.teamId), eq(other.role, 'team-owner'), ne(other.userId, userId));
  const alone = await tx
    .select({ id: teamUser.teamId })
    .from(teamUser)
    .where(
      and(
        inArray(
          teamUser.teamId,
          locked.map(({ id }) => id),
        ),
        eq(teamUser.userId, userId),
        eq(teamUser.role, 'team-owner'),
        notExists(tx.select({ one: sql`1` }).from(other).where(otherOwner)),
      ),
    );
  return alone.map(({ id }) => id);
}
