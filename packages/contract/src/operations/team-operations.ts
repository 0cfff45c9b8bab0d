import {
  AddTeamMemberBody,
  CreatedTeam,
  CreateTeamBody,
  JoinTeamBody,
  TeamList,
  TeamListQuery,
  TeamMemberList,
  TeamMemberListQuery,
  TeamMemberRecord,
  TeamRecord,
  TeamWebsitesQuery,
  UpdateTeamBody,
  UpdateTeamMemberBody,
} from '../teams.ts';
import { WebsiteList } from '../websites.ts';
import { Done, type OperationFamily } from './operation.ts';

export const teamOperations: OperationFamily = {
  name: 'Teams',
  description:
    'Accounts that share websites. Owners and managers may do everything with them, members create and change their own, the role `team-view-only` reads.',
  operations: {
    'GET /teams': { id: 'getTeams', summary: 'List own teams', query: TeamListQuery, answer: TeamList },
    'GET /me/teams': { id: 'getMyTeams', summary: 'List own teams, too', query: TeamListQuery, answer: TeamList },
    'POST /teams': {
      id: 'createTeam',
      summary: 'Create a team',
      description: 'Its creator becomes its owner, unless an administrator names another account.',
      body: CreateTeamBody,
      answer: CreatedTeam,
    },
    'POST /teams/join': {
      id: 'joinTeam',
      summary: 'Join a team by its access code',
      body: JoinTeamBody,
      answer: TeamMemberRecord,
      refusals: ['team-not-found'],
    },
    'GET /teams/{teamId}': { id: 'getTeam', summary: 'Read a team', answer: TeamRecord, refusals: ['not-found'] },
    'POST /teams/{teamId}': {
      id: 'updateTeam',
      summary: 'Change a team',
      description: 'What is left out stays.',
      body: UpdateTeamBody,
      answer: TeamRecord,
      refusals: ['not-found'],
    },
    'DELETE /teams/{teamId}': {
      id: 'deleteTeam',
      summary: 'Delete a team',
      description: 'With its websites and what was collected for them.',
      answer: Done,
      refusals: ['not-found'],
    },
    'GET /teams/{teamId}/websites': {
      id: 'getTeamWebsites',
      summary: 'List the websites of a team',
      query: TeamWebsitesQuery,
      answer: WebsiteList,
      refusals: ['not-found'],
    },
    'GET /teams/{teamId}/users': {
      id: 'getTeamUsers',
      summary: 'List the members of a team',
      query: TeamMemberListQuery,
      answer: TeamMemberList,
      refusals: ['not-found'],
    },
    'POST /teams/{teamId}/users': {
      id: 'createTeamUser',
      summary: 'Add a member',
      body: AddTeamMemberBody,
      answer: TeamMemberRecord,
      refusals: ['not-found'],
    },
    'GET /teams/{teamId}/users/{userId}': {
      id: 'getTeamUser',
      summary: 'Read a member',
      answer: TeamMemberRecord,
      refusals: ['not-found'],
    },
    'POST /teams/{teamId}/users/{userId}': {
      id: 'updateTeamUser',
      summary: "Change a member's role",
      description: 'Only owners make, change and remove owners. The last owner stays: 400.',
      body: UpdateTeamMemberBody,
      answer: TeamMemberRecord,
      refusals: ['not-found'],
    },
    'DELETE /teams/{teamId}/users/{userId}': {
      id: 'deleteTeamUser',
      summary: 'Remove a member',
      description: 'Everybody may leave, but the last owner: 400.',
      answer: Done,
      refusals: ['bad-request', 'not-found'],
    },
  },
};
