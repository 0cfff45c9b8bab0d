import { and, asc, eq, inArray, isNull, sql } from 'drizzle-orm';
import { recordChange } from './audit.ts';
import { laterThan } from './columns.ts';
import type { Database } from './database.ts';
import { lockUser } from './locks.ts';
import { contains, pageOf, sortedBy } from './paging.ts';
import { violatedConstraint } from './registry-error.ts';
import type {
  Actor,
  NewTeam,
  Page,
  Team,
  TeamChanges,
  TeamListRequest,
  TeamMember,
  TeamMembership,
  TeamRole,
  TeamWithRole,
  WebsitePlace,
} from './rows.ts';
import { team, teamUser, website } from './schema.ts';
import { insertMember } from './team-members.ts';
import { deletedWebsiteColumns } from './users.ts';
import { isUuid } from './uuid.ts';

const teamColumns = {
  id: team.id,
  name: team.name,
  /** Null for deleted teams only, and those are never read. */
  accessCode: sql<string>`${team.accessCode}`,
  logoUrl: team.logoUrl,
  createdAt: team.createdAt,
  updatedAt: team.updatedAt,
};
const notDeleted = isNull(team.deletedAt);

type CreateTeamResult =
  | { ok: true; team: Team; owner: TeamMember }
  | { ok: false; reason: 'user_not_found' | 'access_code_taken' };

/** A new team with its first member, its owner. */
export async function createTeam(
  db: Database,
  { name, accessCode, ownerId }: NewTeam,
  by: Actor,
): Promise<CreateTeamResult> {
  try {
    return await db.transaction(async (tx) => {
      if (!(await lockUser(tx, ownerId))) return { ok: false, reason: 'user_not_found' };
      const [created] = await tx.insert(team).values({ name, accessCode }).returning(teamColumns);
      if (!created) throw new Error('INSERT returned no row');
      const owner = await insertMember(tx, created.id, ownerId, 'team-owner');
      await recordChange(tx, by, 'team.create', created.id, { name: created.name, ownerId: owner.userId });
      return { ok: true, team: created, owner };
    });
  } catch (error) {
    if (violatedConstraint(error) === 'team_access_code') return { ok: false, reason: 'access_code_taken' };
    throw error;
  }
}

/** Null for an unknown or deleted team and for an id that is no UUID. */
export async function findTeam(db: Database, id: string): Promise<Team | null> {
  if (!isUuid(id)) return null;
  const [found] = await db
    .select(teamColumns)
    .from(team)
    .where(and(eq(team.id, id), notDeleted));
  return found ?? null;
}

/** The team that who knows this code may join; null for a code of no team. */
export async function findTeamByAccessCode(db: Database, accessCode: string): Promise<Team | null> {
  const [found] = await db
    .select(teamColumns)
    .from(team)
    .where(and(eq(team.accessCode, accessCode), notDeleted));
  return found ?? null;
}

type UpdateTeamResult = { ok: true; team: Team } | { ok: false; reason: 'team_not_found' | 'access_code_taken' };

/** With a new access code the one before lets nobody in any more; who is a member stays one. */
export async function updateTeam(
  db: Database,
  id: string,
  { name, accessCode }: TeamChanges,
  by: Actor,
): Promise<UpdateTeamResult> {
  if (!isUuid(id)) return { ok: false, reason: 'team_not_found' };
  try {
    return await db.transaction(async (tx) => {
      const [updated] = await tx
        .update(team)
        .set({ name, accessCode, updatedAt: laterThan(team.updatedAt) })
        .where(and(eq(team.id, id), notDeleted))
        .returning(teamColumns);
      if (!updated) return { ok: false, reason: 'team_not_found' };
      const details = { name, ...(accessCode !== undefined && { accessCode: 'changed' }) };
      await recordChange(tx, by, 'team.update', updated.id, details);
      return { ok: true, team: updated };
    });
  } catch (error) {
    if (violatedConstraint(error) === 'team_access_code') return { ok: false, reason: 'access_code_taken' };
    throw error;
  }
}

/**
 * Deletes the team with its memberships, its access code and its websites, in one transaction. Answers the websites,
 * whose events are still to be purged; null for an unknown team.
 */
export async function deleteTeam(db: Database, id: string, by: Actor): Promise<{ websites: WebsitePlace[] } | null> {
  if (!isUuid(id)) return null;
  return db.transaction(async (tx) => {
    const [deleted] = await tx
      .update(team)
      .set({ deletedAt: sql`now()`, accessCode: null })
      .where(and(eq(team.id, id), notDeleted))
      .returning({ id: team.id, name: team.name });
    if (!deleted) return null;
    await tx.delete(teamUser).where(eq(teamUser.teamId, id));
    const websites = await tx
      .update(website)
      .set({ deletedAt: sql`now()`, shareId: null })
      .where(and(eq(website.teamId, id), isNull(website.deletedAt)))
      .returning(deletedWebsiteColumns);
    for (const { id: websiteId, name, domain } of websites)
      await recordChange(tx, by, 'website.delete', websiteId, { name, domain });
    const websiteIds = websites.map((row) => row.id);
    await recordChange(tx, by, 'team.delete', deleted.id, { name: deleted.name, websiteIds });
    return { websites: websites.map(({ id: websiteId, region }) => ({ id: websiteId, region })) };
  });
}

/** Sorted by `orderBy` (text as people sort it), equal values by id. `search` looks into names. */
export async function listTeams(db: Database, request: TeamListRequest): Promise<Page<TeamWithRole>> {
  const { memberId, orderBy, search, descending } = request;
  if (memberId !== null && !isUuid(memberId)) return { rows: [], count: 0 };
  const role = sql<TeamRole | null>`(SELECT role FROM team_user m WHERE m.team_id = team.id AND m.user_id = ${memberId})`;
  // By the member's own rows, which are few; by the role every team would be looked at.
  const ofMember = memberId && db.select({ id: teamUser.teamId }).from(teamUser).where(eq(teamUser.userId, memberId));
  const matching = and(notDeleted, ofMember ? inArray(team.id, ofMember) : undefined, contains([team.name], search));
  return pageOf(request, {
    count: () => db.$count(team, matching),
    rows: (limit, offset) =>
      db
        .select({ ...teamColumns, role })
        .from(team)
        .where(matching)
        .orderBy(...sortedBy(team[orderBy], team.id, descending))
        .limit(limit)
        .offset(offset),
  });
}

/** All of them, oldest membership first. */
export async function listTeamsOfUser(db: Database, userId: string): Promise<TeamMembership[]> {
  return db
    .select({ id: team.id, name: team.name, logoUrl: team.logoUrl, role: teamUser.role })
    .from(teamUser)
    .innerJoin(team, eq(team.id, teamUser.teamId))
    .where(and(eq(teamUser.userId, userId), isNull(team.deletedAt)))
    .orderBy(asc(teamUser.createdAt), asc(team.id));
}

/** The user's role in the team; null when the user is no member or there is no such team. */
export async function findTeamRole(db: Database, teamId: string, userId: string): Promise<TeamRole | null> {
  if (!isUuid(teamId)) return null;
  const [found] = await db
    .select({ role: teamUser.role })
    .from(teamUser)
    .innerJoin(team, eq(team.id, teamUser.teamId))
    .where(and(eq(teamUser.teamId, teamId), eq(teamUser.userId, userId), isNull(team.deletedAt)));
  return found?.role ?? null;
}
