import type { TeamMemberRecord, TeamRecord } from '@meridian/contract/teams';
import type { Team, TeamMember } from '@meridian/registry/rows';

/** `showsCode`: whether the reader may change the team. Who knows the code can let in whomever he likes. */
export function toTeamRecord(team: Team, showsCode: boolean): TeamRecord {
  return {
    id: team.id,
    name: team.name,
    accessCode: showsCode ? team.accessCode : null,
    logoUrl: team.logoUrl,
    createdAt: team.createdAt.toISOString(),
    updatedAt: team.updatedAt.toISOString(),
    deletedAt: null,
  };
}

export function toTeamMemberRecord({ username, createdAt, updatedAt, ...member }: TeamMember): TeamMemberRecord {
  const user = { id: member.userId, username };
  return { ...member, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString(), user };
}
