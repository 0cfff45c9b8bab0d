import type { TeamRole, Website } from '@meridian/registry/rows';
import type { Caller, QueryConfig } from '../query-env.ts';

/*
 * Who may do what: the only place that says so. A key may what its owner may; what is for sessions alone says so at its
 * route (`requireSession`).
 */

type Account = Pick<Caller, 'userId' | 'role'>;
type Mode = QueryConfig['mode'];

/** What an account may do that concerns no website and no team that is there already. */
export type AccountAction =
  | 'create website'
  | 'create team'
  | 'create team for others'
  | 'join team'
  | 'leave team'
  | 'give website to others'
  | 'manage users'
  | 'list everything';

const accountActions: Record<'administrator' | 'user' | 'view-only', readonly AccountAction[]> = {
  administrator: [
    'create website',
    'create team',
    'create team for others',
    'join team',
    'leave team',
    'give website to others',
    'manage users',
    'list everything',
  ],
  user: ['create website', 'create team', 'join team', 'leave team'],
  'view-only': [],
};

/** 'read' is all that is known of the website: its record, its statistics, its segments. */
export type WebsiteAction = 'read' | 'update' | 'delete' | 'reset' | 'transfer';

/** What a caller is to a website. */
type WebsiteRelation = 'administrator' | 'owner' | 'creator in team' | TeamRole | 'stranger';

const websiteActions: Record<WebsiteRelation, readonly WebsiteAction[]> = {
  administrator: ['read', 'update', 'delete', 'reset', 'transfer'],
  owner: ['read', 'update', 'delete', 'reset', 'transfer'],
  'team-owner': ['read', 'update', 'delete', 'reset', 'transfer'],
  'team-manager': ['read', 'update', 'delete', 'reset', 'transfer'],
  'creator in team': ['read', 'update'],
  'team-member': ['read'],
  'team-view-only': ['read'],
  stranger: [],
};

/**
 * 'read' is the team with its members and its websites; 'update' also shows its access code; 'list websites': among the
 * own ones.
 */
export type TeamAction = 'read' | 'update' | 'delete' | 'manage members' | 'create website' | 'list websites';

const teamActions: Record<'administrator' | TeamRole | 'stranger', readonly TeamAction[]> = {
  administrator: ['read', 'update', 'delete', 'manage members', 'create website', 'list websites'],
  'team-owner': ['read', 'update', 'delete', 'manage members', 'create website', 'list websites'],
  'team-manager': ['read', 'update', 'manage members', 'create website', 'list websites'],
  'team-member': ['read', 'create website'],
  'team-view-only': ['read'],
  stranger: [],
};

/** Roles that who may manage members gives, takes and touches. */
const managedRoles: Record<'administrator' | TeamRole | 'stranger', readonly TeamRole[]> = {
  administrator: ['team-owner', 'team-manager', 'team-member', 'team-view-only'],
  'team-owner': ['team-owner', 'team-manager', 'team-member', 'team-view-only'],
  'team-manager': ['team-manager', 'team-member', 'team-view-only'],
  'team-member': [],
  'team-view-only': [],
  stranger: [],
};

/** All that an account of role view-only may do with websites and teams, whatever it is to them. */
const viewing: readonly (WebsiteAction | TeamAction)[] = ['read', 'list websites'];

/** On cloud an account of role `admin` has no power over others: the operator works from the command line. */
export function isAdministrator({ role }: Pick<Account, 'role'>, mode: Mode): boolean {
  return role === 'admin' && mode === 'self-hosted';
}

export function may(caller: Pick<Account, 'role'>, action: AccountAction, mode: Mode): boolean {
  const kind = isAdministrator(caller, mode) ? 'administrator' : caller.role === 'view-only' ? 'view-only' : 'user';
  return accountActions[kind].includes(action);
}

/** `teamRole` is the caller's role in the team that owns the website; null for none. */
export function mayWithWebsite(
  caller: Account,
  website: Pick<Website, 'userId' | 'createdBy'>,
  teamRole: TeamRole | null,
  action: WebsiteAction,
  mode: Mode,
): boolean {
  if (caller.role === 'view-only' && !viewing.includes(action)) return false;
  return websiteActions[relationToWebsite(website, caller, teamRole, mode)].includes(action);
}

function relationToWebsite(
  website: Pick<Website, 'userId' | 'createdBy'>,
  caller: Account,
  teamRole: TeamRole | null,
  mode: Mode,
): WebsiteRelation {
  if (isAdministrator(caller, mode)) return 'administrator';
  if (website.userId === caller.userId) return 'owner';
  if (teamRole === 'team-member' && website.createdBy === caller.userId) return 'creator in team';
  return teamRole ?? 'stranger';
}

/** `teamRole` is the caller's role in the team; null for none. */
export function mayWithTeam(
  caller: Pick<Account, 'role'>,
  teamRole: TeamRole | null,
  action: TeamAction,
  mode: Mode,
): boolean {
  if (caller.role === 'view-only' && !viewing.includes(action)) return false;
  return teamActions[relationToTeam(caller, teamRole, mode)].includes(action);
}

/** The roles that the caller may give to members of the team, and take from them. */
export function rolesManagedBy(
  caller: Pick<Account, 'role'>,
  teamRole: TeamRole | null,
  mode: Mode,
): readonly TeamRole[] {
  if (!mayWithTeam(caller, teamRole, 'manage members', mode)) return [];
  return managedRoles[relationToTeam(caller, teamRole, mode)];
}

function relationToTeam(caller: Pick<Account, 'role'>, teamRole: TeamRole | null, mode: Mode) {
  return isAdministrator(caller, mode) ? 'administrator' : (teamRole ?? 'stranger');
}

/** Whether somebody's list of websites shows those of a team in which he has this role, if he asks for teams. */
export function listsTeamWebsites(teamRole: TeamRole): boolean {
  return teamActions[teamRole].includes('list websites');
}
