import type { TeamRole } from '@meridian/registry/rows';
import { describe, expect, test } from 'vitest';
import {
  type AccountAction,
  isAdministrator,
  listsTeamWebsites,
  may,
  mayWithTeam,
  mayWithWebsite,
  rolesManagedBy,
  type TeamAction,
  type WebsiteAction,
} from './permissions.ts';

const actions: WebsiteAction[] = ['read', 'update', 'delete', 'reset', 'transfer'];
const teamActions: TeamAction[] = ['read', 'update', 'delete', 'manage members', 'create website', 'list websites'];
const roles: TeamRole[] = ['team-owner', 'team-manager', 'team-member', 'team-view-only'];
const me = { userId: 'me', role: 'user' } as const;
const own = { userId: 'me', createdBy: 'me' };
const foreign = { userId: 'somebody', createdBy: 'somebody' };
const teams = { userId: null, createdBy: 'somebody' };
const teamsMadeByMe = { userId: null, createdBy: 'me' };

const allowed = (
  caller: Parameters<typeof mayWithWebsite>[0],
  website: Parameters<typeof mayWithWebsite>[1],
  teamRole: TeamRole | null = null,
  mode: 'self-hosted' | 'cloud' = 'self-hosted',
) => actions.filter((action) => mayWithWebsite(caller, website, teamRole, action, mode));

describe('what a caller may do with a website', () => {
  test.each([
    ['own', own, null, actions],
    ['foreign', foreign, null, []],
    ['of a team, owner', teams, 'team-owner', actions],
    ['of a team, manager', teams, 'team-manager', actions],
    ['of a team, member', teams, 'team-member', ['read']],
    ['of a team, member who made it', teamsMadeByMe, 'team-member', ['read', 'update']],
    ['of a team, view only', teams, 'team-view-only', ['read']],
    ['of a team, view only, though made by the caller', teamsMadeByMe, 'team-view-only', ['read']],
    ['of a team that the caller has left, though made by the caller', teamsMadeByMe, null, []],
  ] as const)('%s', (_name, website, teamRole, expected) => {
    expect(allowed(me, website, teamRole)).toEqual(expected);
  });

  test('an administrator may everything on self-hosted, and no more than a user on cloud', () => {
    const admin = { userId: 'admin', role: 'admin' } as const;
    expect(allowed(admin, foreign)).toEqual(actions);
    expect(allowed(admin, teams)).toEqual(actions);
    expect(allowed(admin, foreign, null, 'cloud')).toEqual([]);
    expect(isAdministrator(admin, 'cloud')).toBe(false);
  });

  test('a view-only account only reads, even what it owns', () => {
    const viewer = { userId: 'me', role: 'view-only' } as const;
    expect(allowed(viewer, own)).toEqual(['read']);
    expect(allowed(viewer, teams, 'team-owner')).toEqual(['read']);
    expect(allowed(viewer, foreign)).toEqual([]);
  });
});

describe('what a caller may do with a team', () => {
  const allowedIn = (
    role: 'user' | 'admin' | 'view-only',
    teamRole: TeamRole | null,
    mode: 'self-hosted' | 'cloud' = 'self-hosted',
  ) => teamActions.filter((action) => mayWithTeam({ role }, teamRole, action, mode));

  test.each([
    ['team-owner', teamActions],
    ['team-manager', ['read', 'update', 'manage members', 'create website', 'list websites']],
    ['team-member', ['read', 'create website']],
    ['team-view-only', ['read']],
    [null, []],
  ] as const)('%s', (teamRole, expected) => {
    expect(allowedIn('user', teamRole)).toEqual(expected);
    expect(allowedIn('admin', teamRole, 'cloud')).toEqual(expected);
    expect(allowedIn('admin', teamRole)).toEqual(teamActions);
  });

  test('a view-only account changes nothing, whatever its role in the team', () => {
    expect(allowedIn('view-only', 'team-owner')).toEqual(['read', 'list websites']);
    expect(allowedIn('view-only', 'team-member')).toEqual(['read']);
    expect(allowedIn('view-only', null)).toEqual([]);
  });

  test('owners and administrators give and take every role, a manager all but that of an owner', () => {
    const managed = (role: 'user' | 'admin' | 'view-only', teamRole: TeamRole | null) =>
      rolesManagedBy({ role }, teamRole, 'self-hosted');
    expect(managed('user', 'team-owner')).toEqual(roles);
    expect(managed('admin', null)).toEqual(roles);
    expect(managed('user', 'team-manager')).toEqual(['team-manager', 'team-member', 'team-view-only']);
    for (const teamRole of ['team-member', 'team-view-only', null] as const)
      expect(managed('user', teamRole)).toEqual([]);
    expect(managed('view-only', 'team-owner')).toEqual([]);
  });

  test('includeTeams lists the websites of teams that the caller owns or manages', () => {
    expect(roles.filter(listsTeamWebsites)).toEqual(['team-owner', 'team-manager']);
  });
});

test('accounts make websites and teams for themselves; a view-only one makes nothing; administrators act for others', () => {
  const all: AccountAction[] = [
    'create website',
    'create team',
    'create team for others',
    'join team',
    'leave team',
    'give website to others',
    'manage users',
    'list everything',
  ];
  const allowedTo = (role: 'user' | 'admin' | 'view-only', mode: 'self-hosted' | 'cloud') =>
    all.filter((action) => may({ role }, action, mode));
  const forItself = ['create website', 'create team', 'join team', 'leave team'];
  expect(allowedTo('admin', 'self-hosted')).toEqual(all);
  expect(allowedTo('admin', 'cloud')).toEqual(forItself);
  for (const mode of ['self-hosted', 'cloud'] as const) {
    expect(allowedTo('user', mode)).toEqual(forItself);
    expect(allowedTo('view-only', mode)).toEqual([]);
  }
});
