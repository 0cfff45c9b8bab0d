import type { Team, TeamRole } from '@meridian/registry/rows';
import { ApiError } from '@meridian/runtime/http/api-error';
import type { Caller, QueryDeps } from '../query-env.ts';
import { mayWithTeam, type TeamAction } from './permissions.ts';

/** A team, what the caller is in it (null: no member), and what else the caller may do with it. */
type TeamAccess = { team: Team; role: TeamRole | null; may(action: TeamAction): boolean };

/**
 * The team, if the caller may do `action` with it. Permission and fetch are one act, so that no route can forget the
 * first.
 * @throws ApiError 404, the same for unknown, foreign and deleted teams; 403 when the caller may read it only
 */
export async function getTeamFor(
  { registry, config }: Pick<QueryDeps, 'registry' | 'config'>,
  caller: Caller,
  id: string,
  action: TeamAction,
): Promise<TeamAccess> {
  const [team, role] = await Promise.all([registry.findTeam(id), registry.findTeamRole(id, caller.userId)]);
  const may = (wanted: TeamAction) => mayWithTeam(caller, role, wanted, config.mode);
  if (!team || !may('read')) throw teamNotFound();
  if (!may(action)) throw new ApiError('forbidden', 'You may not do this with this team.');
  return { team, role, may };
}

export const teamNotFound = () => new ApiError('not-found', 'Team not found');

/** @throws ApiError 403, the same for a team that does not exist and one in which the caller may not create */
export async function assertMayCreateInTeam(
  { registry, config }: Pick<QueryDeps, 'registry' | 'config'>,
  caller: Caller,
  teamId: string,
): Promise<void> {
  const teamRole = await registry.findTeamRole(teamId, caller.userId);
  if (!mayWithTeam(caller, teamRole, 'create website', config.mode)) throw notInThisTeam();
}

export const notInThisTeam = () => new ApiError('forbidden', 'You may not create websites in this team.');
