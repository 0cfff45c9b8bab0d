import { and, asc, eq, isNull } from 'drizzle-orm';
import type { Database } from './database.ts';
import type { TeamMembership, TeamRole } from './rows.ts';
import { team, teamUser } from './schema.ts';
import { isUuid } from './uuid.ts';

/** Oldest membership first. */
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
