import {
  AddTeamMemberBody,
  JoinTeamBody,
  type TeamMemberList,
  TeamMemberListQuery,
  type TeamMemberRecord,
  UpdateTeamMemberBody,
} from '@meridian/contract/teams';
import type { TeamRole } from '@meridian/registry/rows';
import { ApiError } from '@meridian/runtime/http/api-error';
import { type Context, Hono } from 'hono';
import { toTeamMemberRecord } from '../answers/team-record.ts';
import { actorOf } from '../auth/actor-of.ts';
import { may, rolesManagedBy } from '../auth/permissions.ts';
import { getTeamFor, teamNotFound } from '../auth/team-access.ts';
import { refusedValue } from '../http/bad-request.ts';
import { readJson } from '../http/read-json.ts';
import { readQuery, searchParams } from '../http/read-query.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

const all = '/teams/:teamId/users';
const one = `${all}/:userId` as const;
const everyRole: readonly TeamRole[] = ['team-owner', 'team-manager', 'team-member', 'team-view-only'];

/**
 * /teams/join, and /teams/{teamId}/users: the members. Who may read the team reads them; who may manage them changes
 * them; every one may leave.
 */
export function teamMemberRoutes(deps: QueryDeps): Hono<QueryEnv> {
  const { registry, config } = deps;
  return new Hono<QueryEnv>()
    .post('/teams/join', async (c) => c.json((await joinTeam(deps, c)) satisfies TeamMemberRecord))
    .get(all, async (c) => {
      const { team } = await getTeamFor(deps, c.get('caller'), c.req.param('teamId'), 'read');
      const query = readQuery(searchParams(c), TeamMemberListQuery);
      const { rows, count } = await registry.listTeamMembers(team.id, query);
      const { page, pageSize, search } = query;
      const data = rows.map(toTeamMemberRecord);
      return c.json({ data, count, page, pageSize, orderBy: 'username', search } satisfies TeamMemberList);
    })
    .post(all, async (c) => {
      const caller = c.get('caller');
      const access = await getTeamFor(deps, caller, c.req.param('teamId'), 'manage members');
      const { userId, role } = await readJson(c, AddTeamMemberBody);
      if (!rolesManagedBy(caller, access.role, config.mode).includes(role)) throw outOfReach();
      const added = await registry.addTeamMember(access.team.id, { userId, role }, actorOf(c));
      if (!added.ok) throw refusal(added.reason);
      return c.json(toTeamMemberRecord(added.member) satisfies TeamMemberRecord);
    })
    .get(one, async (c) => {
      const { team } = await getTeamFor(deps, c.get('caller'), c.req.param('teamId'), 'read');
      const member = await registry.findTeamMember(team.id, c.req.param('userId'));
      if (!member) throw refusal('member_not_found');
      return c.json(toTeamMemberRecord(member) satisfies TeamMemberRecord);
    })
    .post(one, async (c) => {
      const caller = c.get('caller');
      const access = await getTeamFor(deps, caller, c.req.param('teamId'), 'manage members');
      const { role } = await readJson(c, UpdateTeamMemberBody);
      const among = rolesManagedBy(caller, access.role, config.mode);
      if (!among.includes(role)) throw outOfReach();
      const change = { userId: c.req.param('userId'), role, among };
      const updated = await registry.updateTeamMember(access.team.id, change, actorOf(c));
      if (!updated.ok) throw refusal(updated.reason);
      return c.json(toTeamMemberRecord(updated.member) satisfies TeamMemberRecord);
    })
    .delete(one, async (c) => {
      const caller = c.get('caller');
      const userId = c.req.param('userId').toLowerCase();
      const leaves = userId === caller.userId && may(caller, 'leave team', config.mode);
      const access = await getTeamFor(deps, caller, c.req.param('teamId'), leaves ? 'read' : 'manage members');
      const among = leaves ? everyRole : rolesManagedBy(caller, access.role, config.mode);
      const removed = await registry.removeTeamMember(access.team.id, { userId, among }, actorOf(c));
      if (!removed.ok) throw refusal(removed.reason);
      return c.json({ ok: true });
    });
}

async function joinTeam({ registry, config }: QueryDeps, c: Context<QueryEnv>): Promise<TeamMemberRecord> {
  const caller = c.get('caller');
  if (!may(caller, 'join team', config.mode)) throw new ApiError('forbidden', 'You may not join teams.');
  const { accessCode } = await readJson(c, JoinTeamBody);
  const team = await registry.findTeamByAccessCode(accessCode);
  const joined = team && (await registry.joinTeam(team.id, { userId: caller.userId, accessCode }, actorOf(c)));
  if (joined?.ok) return toTeamMemberRecord(joined.member);
  if (joined?.reason === 'user_not_found') throw new ApiError('unauthorized', 'Unauthorized');
  throw new ApiError('team-not-found', 'Team not found');
}

type Refusal =
  | 'team_not_found'
  | 'user_not_found'
  | 'already_member'
  | 'member_not_found'
  | 'out_of_reach'
  | 'last_owner';

function refusal(reason: Refusal): ApiError {
  if (reason === 'team_not_found') return teamNotFound();
  if (reason === 'user_not_found') return refusedValue('userId', 'User not found.');
  if (reason === 'already_member') return refusedValue('userId', 'User is already a member of the team.');
  if (reason === 'last_owner')
    return refusedValue('userId', 'A team needs an owner: make somebody else its owner first.');
  if (reason === 'out_of_reach') return outOfReach();
  return new ApiError('not-found', 'Team member not found');
}

const outOfReach = () => new ApiError('forbidden', 'Only an owner of the team may make, change or remove its owners.');
