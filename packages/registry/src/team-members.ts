import { and, count, eq, ne, sql } from 'drizzle-orm';
import { recordChange } from './audit.ts';
import { laterThan } from './columns.ts';
import type { Database } from './database.ts';
import { lockTeam, lockUser } from './locks.ts';
import { contains, pageOf, sortedBy } from './paging.ts';
import type { Actor, Page, PageRequest, TeamMember, TeamRole } from './rows.ts';
import { team, teamUser, userAccount } from './schema.ts';
import { isUuid } from './uuid.ts';

const memberColumns = {
  /** Clients want one; it follows from whose and of which team the membership is. */
  id: sql<string>`md5(team_user.team_id::text || team_user.user_id::text)::uuid`,
  teamId: teamUser.teamId,
  userId: teamUser.userId,
  /** Asked for in a subquery, so that INSERT and UPDATE can return it as well. */
  username: sql<string>`(SELECT username FROM user_account member WHERE member.id = team_user.user_id)`,
  role: teamUser.role,
  createdAt: teamUser.createdAt,
  updatedAt: teamUser.updatedAt,
};
const isMember = (teamId: string, userId: string) => and(eq(teamUser.teamId, teamId), eq(teamUser.userId, userId));

/** A new row; the caller has locked account and team. */
export async function insertMember(tx: Database, teamId: string, userId: string, role: TeamRole): Promise<TeamMember> {
  const [created] = await tx.insert(teamUser).values({ teamId, userId, role }).returning(memberColumns);
  if (!created) throw new Error('INSERT returned no row');
  return created;
}

/** Null for who is no member, and for an id that is no UUID. */
export async function findTeamMember(db: Database, teamId: string, userId: string): Promise<TeamMember | null> {
  if (!isUuid(teamId) || !isUuid(userId)) return null;
  const [found] = await db.select(memberColumns).from(teamUser).where(isMember(teamId, userId));
  return found ?? null;
}

/** By username, ties by id. `search` looks into usernames. */
export async function listTeamMembers(db: Database, teamId: string, request: PageRequest): Promise<Page<TeamMember>> {
  const matching = and(eq(teamUser.teamId, teamId), contains([userAccount.username], request.search));
  const ofAccounts = eq(userAccount.id, teamUser.userId);
  return pageOf(request, {
    count: async () => {
      const [row] = await db
        .select({ members: count() })
        .from(teamUser)
        .innerJoin(userAccount, ofAccounts)
        .where(matching);
      return row?.members ?? 0;
    },
    rows: (limit, offset) =>
      db
        .select({ ...memberColumns, username: userAccount.username })
        .from(teamUser)
        .innerJoin(userAccount, ofAccounts)
        .where(matching)
        .orderBy(...sortedBy(userAccount.username, teamUser.userId))
        .limit(limit)
        .offset(offset),
  });
}

type JoinTeamResult = { ok: true; member: TeamMember } | { ok: false; reason: 'team_not_found' | 'user_not_found' };

/**
 * Makes the account a `team-member` of the team, if `accessCode` is still the team's. Who is a member already stays
 * what it is, and is answered the same.
 */
export async function joinTeam(
  db: Database,
  teamId: string,
  { userId, accessCode }: { userId: string; accessCode: string },
  by: Actor,
): Promise<JoinTeamResult> {
  return db.transaction(async (tx) => {
    if (!(await lockUser(tx, userId))) return { ok: false, reason: 'user_not_found' };
    if (!(await lockTeam(tx, teamId, 'update'))) return { ok: false, reason: 'team_not_found' };
    const [opened] = await tx
      .select({ id: team.id })
      .from(team)
      .where(and(eq(team.id, teamId), eq(team.accessCode, accessCode)));
    if (!opened) return { ok: false, reason: 'team_not_found' };
    const member = await findTeamMember(tx, opened.id, userId);
    if (member) return { ok: true, member };
    const joined = await insertMember(tx, opened.id, userId, 'team-member');
    await recordChange(tx, by, 'team.join', opened.id, { userId: joined.userId, role: joined.role });
    return { ok: true, member: joined };
  });
}

type AddTeamMemberResult =
  | { ok: true; member: TeamMember }
  | { ok: false; reason: 'team_not_found' | 'user_not_found' | 'already_member' };

export async function addTeamMember(
  db: Database,
  teamId: string,
  { userId, role }: { userId: string; role: TeamRole },
  by: Actor,
): Promise<AddTeamMemberResult> {
  return db.transaction(async (tx) => {
    if (!(await lockUser(tx, userId))) return { ok: false, reason: 'user_not_found' };
    if (!(await lockTeam(tx, teamId, 'update'))) return { ok: false, reason: 'team_not_found' };
    if (await findTeamMember(tx, teamId, userId)) return { ok: false, reason: 'already_member' };
    const member = await insertMember(tx, teamId, userId, role);
    await recordChange(tx, by, 'team.member-add', member.teamId, { userId: member.userId, role });
    return { ok: true, member };
  });
}

/**
 * `out_of_reach`: the member has a role that is not one of those which the change may touch. `last_owner`: the team
 * would have no owner left.
 */
type MemberRefusal = { ok: false; reason: 'member_not_found' | 'out_of_reach' | 'last_owner' };

type UpdateTeamMemberResult = { ok: true; member: TeamMember } | MemberRefusal;

/** Another role for a member. Only members whose role is one of `among` are touched. */
export async function updateTeamMember(
  db: Database,
  teamId: string,
  { userId, role, among }: { userId: string; role: TeamRole; among: readonly TeamRole[] },
  by: Actor,
): Promise<UpdateTeamMemberResult> {
  return db.transaction(async (tx) => {
    // Who is made an owner while the account is being deleted would be one whom nobody counted.
    if (!(await lockUser(tx, userId))) return { ok: false, reason: 'member_not_found' };
    const found = await reachMember(tx, teamId, userId, among);
    if (!found.ok) return found;
    if (role !== 'team-owner' && (await isLastOwner(tx, found.member))) return { ok: false, reason: 'last_owner' };
    const [member] = await tx
      .update(teamUser)
      .set({ role, updatedAt: laterThan(teamUser.updatedAt) })
      .where(isMember(teamId, userId))
      .returning(memberColumns);
    if (!member) throw new Error('UPDATE returned no row');
    const details = { userId: member.userId, role, before: found.member.role };
    await recordChange(tx, by, 'team.member-update', member.teamId, details);
    return { ok: true, member };
  });
}

type RemoveTeamMemberResult = { ok: true } | MemberRefusal;

/** Only members whose role is one of `among` are touched. */
export async function removeTeamMember(
  db: Database,
  teamId: string,
  { userId, among }: { userId: string; among: readonly TeamRole[] },
  by: Actor,
): Promise<RemoveTeamMemberResult> {
  return db.transaction(async (tx) => {
    const found = await reachMember(tx, teamId, userId, among);
    if (!found.ok) return found;
    if (await isLastOwner(tx, found.member)) return { ok: false, reason: 'last_owner' };
    await tx.delete(teamUser).where(isMember(teamId, userId));
    const { teamId: id, userId: removed, role } = found.member;
    await recordChange(tx, by, 'team.member-remove', id, { userId: removed, role });
    return { ok: true };
  });
}

/** The member, in a team that nobody else changes until the transaction ends. */
async function reachMember(
  tx: Database,
  teamId: string,
  userId: string,
  among: readonly TeamRole[],
): Promise<{ ok: true; member: TeamMember } | MemberRefusal> {
  const member = (await lockTeam(tx, teamId, 'update')) && (await findTeamMember(tx, teamId, userId));
  if (!member) return { ok: false, reason: 'member_not_found' };
  return among.includes(member.role) ? { ok: true, member } : { ok: false, reason: 'out_of_reach' };
}

async function isLastOwner(tx: Database, { teamId, userId, role }: TeamMember): Promise<boolean> {
  if (role !== 'team-owner') return false;
  const others = and(eq(teamUser.teamId, teamId), eq(teamUser.role, 'team-owner'), ne(teamUser.userId, userId));
  return (await tx.$count(teamUser, others)) === 0;
}
