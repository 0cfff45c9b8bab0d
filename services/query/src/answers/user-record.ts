import type { Profile, UserRecord } from '@meridian/contract/accounts';
import type { TeamMembership, User } from '@meridian/registry/rows';
import type { Caller } from '../query-env.ts';

type PublicUser = Pick<User, 'id' | 'username' | 'role' | 'createdAt'>;

/** Names each field, so that a password hash in the row goes nowhere. */
export function toUserRecord({ id, username, role, createdAt }: PublicUser): UserRecord {
  return { id, username, role, createdAt: createdAt.toISOString() };
}

export function toProfile(user: PublicUser, teams: TeamMembership[]): Profile {
  return {
    ...toUserRecord(user),
    isAdmin: user.role === 'admin',
    teams: teams.map(({ id, name, logoUrl }) => ({ id, name, logoUrl })),
  };
}

export function userOfCaller({ userId, username, role, createdAt }: Caller): PublicUser {
  return { id: userId, username, role, createdAt };
}
