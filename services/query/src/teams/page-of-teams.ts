import { type TeamList, TeamListQuery } from '@meridian/contract/teams';
import type { Context } from 'hono';
import { toTeamRecord } from '../answers/team-record.ts';
import { mayWithTeam } from '../auth/permissions.ts';
import { readQuery, searchParams } from '../http/read-query.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

/** The page that the query string asks for, of the teams of an account, or of all teams (`memberId` null). */
export async function pageOfTeams(
  { registry, config }: Pick<QueryDeps, 'registry' | 'config'>,
  c: Context<QueryEnv>,
  memberId: string | null,
): Promise<TeamList> {
  const { sortDescending, ...query } = readQuery(searchParams(c), TeamListQuery);
  const { rows, count } = await registry.listTeams({ ...query, descending: sortDescending, memberId });
  const caller = c.get('caller');
  // Only administrators read lists of others, and they need no role to change a team.
  const data = rows.map((team) => toTeamRecord(team, mayWithTeam(caller, team.role, 'update', config.mode)));
  const { page, pageSize, orderBy, search } = query;
  return { data, count, page, pageSize, orderBy, search };
}
