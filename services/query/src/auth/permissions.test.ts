import type { TeamRole } from '@meridian/registry/rows';
import { describe, expect, test } from 'vitest';
import { isAdministrator, listsTeamWebsites, mayCreateInTeam, mayDo, type WebsiteAction } from './permissions.ts';

const actions: WebsiteAction[] = ['read', 'update', 'delete', 'reset', 'transfer'];
const me = { userId: 'me', role: 'user' } as const;
const own = { userId: 'me', createdBy: 'me' };
const foreign = { userId: 'somebody', createdBy: 'somebody' };
const teams = { userId: null, createdBy: 'somebody' };
const teamsMadeByMe = { userId: null, createdBy: 'me' };

const allowed = (
  caller: Parameters<typeof mayDo>[0],
  website: Parameters<typeof mayDo>[1],
  teamRole: TeamRole | null = null,
  mode: 'self-hosted' | 'cloud' = 'self-hosted',
) => actions.filter((action) => mayDo(caller, website, teamRole, action, mode));

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

test('owner, manager and member create in their team; an administrator in any; a view-only account in none', () => {
  const roles = ['team-owner', 'team-manager', 'team-member', 'team-view-only', null] as const;
  const creating = (role: 'user' | 'admin' | 'view-only') =>
    roles.filter((teamRole) => mayCreateInTeam({ role }, teamRole, 'self-hosted'));
  expect(creating('user')).toEqual(['team-owner', 'team-manager', 'team-member']);
  expect(creating('admin')).toEqual(roles);
  expect(creating('view-only')).toEqual([]);
});

test('includeTeams lists the websites of teams that the caller owns or manages', () => {
  const roles = ['team-owner', 'team-manager', 'team-member', 'team-view-only'] as const;
  expect(roles.filter(listsTeamWebsites)).toEqual(['team-owner', 'team-manager']);
});
