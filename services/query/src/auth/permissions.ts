import type { TeamRole, Website } from '@meridian/registry/rows';
import type { Caller, QueryConfig } from '../query-env.ts';

export type WebsiteAction = 'read' | 'update' | 'delete' | 'reset' | 'transfer';

/** What a caller is to a website. */
type Relation = 'administrator' | 'owner' | 'creator in team' | TeamRole | 'stranger';

const everything: readonly WebsiteAction[] = ['read', 'update', 'delete', 'reset', 'transfer'];

/** The whole permission matrix for one website. */
const allowedActions: Record<Relation, readonly WebsiteAction[]> = {
  administrator: everything,
  owner: everything,
  'team-owner': everything,
  'team-manager': everything,
  'creator in team': ['read', 'update'],
  'team-member': ['read'],
  'team-view-only': ['read'],
  stranger: [],
};

/** Roles that may create websites in their team. */
const creatingRoles: readonly TeamRole[] = ['team-owner', 'team-manager', 'team-member'];

/** Roles whose team's websites a list with `includeTeams` shows. */
const listingRoles: readonly TeamRole[] = ['team-owner', 'team-manager'];

/** `teamRole` is the caller's role in the team that owns the website; null for none. */
export function mayDo(
  caller: Pick<Caller, 'userId' | 'role'>,
  website: Pick<Website, 'userId' | 'createdBy'>,
  teamRole: TeamRole | null,
  action: WebsiteAction,
  mode: QueryConfig['mode'],
): boolean {
  if (caller.role === 'view-only' && action !== 'read') return false;
  return allowedActions[relationTo(website, caller, teamRole, mode)].includes(action);
}

function relationTo(
  website: Pick<Website, 'userId' | 'createdBy'>,
  caller: Pick<Caller, 'userId' | 'role'>,
  teamRole: TeamRole | null,
  mode: QueryConfig['mode'],
): Relation {
  if (isAdministrator(caller, mode)) return 'administrator';
  if (website.userId === caller.userId) return 'owner';
  if (teamRole === 'team-member' && website.createdBy === caller.userId) return 'creator in team';
  return teamRole ?? 'stranger';
}

/** On cloud an account of role `admin` has no power over others: the operator works from the command line. */
export function isAdministrator(caller: Pick<Caller, 'role'>, mode: QueryConfig['mode']): boolean {
  return caller.role === 'admin' && mode === 'self-hosted';
}

/** May the caller create a website of its own? */
export function mayCreate(caller: Pick<Caller, 'role'>): boolean {
  return caller.role !== 'view-only';
}

/** May the caller create a website in a team in which it has `teamRole`? */
export function mayCreateInTeam(
  caller: Pick<Caller, 'role'>,
  teamRole: TeamRole | null,
  mode: QueryConfig['mode'],
): boolean {
  if (!mayCreate(caller)) return false;
  return isAdministrator(caller, mode) || (teamRole !== null && creatingRoles.includes(teamRole));
}

export function listsTeamWebsites(teamRole: TeamRole): boolean {
  return listingRoles.includes(teamRole);
}
