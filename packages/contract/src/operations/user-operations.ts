import { CreateUserBody, UpdateUserBody, UserList, UserListQuery, UserRecord } from '../accounts.ts';
import { AuditList, AuditListQuery } from '../audit.ts';
import { TeamList, TeamListQuery, TeamWebsitesQuery } from '../teams.ts';
import { WebsiteList, WebsiteListQuery } from '../websites.ts';
import { Done, type OperationFamily } from './operation.ts';

export const userOperations: OperationFamily = {
  name: 'Users',
  description: 'Accounts, managed by an administrator who logged in.',
  selfHostedOnly: true,
  operations: {
    'POST /users': {
      id: 'createUser',
      summary: 'Create a user',
      access: 'session',
      body: CreateUserBody,
      answer: UserRecord,
    },
    'GET /users/{userId}': {
      id: 'getUser',
      summary: 'Read a user',
      access: 'session',
      answer: UserRecord,
      refusals: ['not-found'],
    },
    'POST /users/{userId}': {
      id: 'updateUser',
      summary: 'Change a user',
      description: 'What is left out stays.',
      access: 'session',
      body: UpdateUserBody,
      answer: UserRecord,
      refusals: ['not-found'],
    },
    'DELETE /users/{userId}': {
      id: 'deleteUser',
      summary: 'Delete a user',
      description:
        'With all own websites and what was collected for them. Refused with 400: oneself, and the only owner of a team.',
      access: 'session',
      answer: Done,
      refusals: ['bad-request', 'not-found'],
    },
    'GET /users/{userId}/websites': {
      id: 'getUserWebsites',
      summary: 'List the websites of a user',
      access: 'session',
      query: WebsiteListQuery,
      answer: WebsiteList,
      refusals: ['not-found'],
    },
    'GET /users/{userId}/teams': {
      id: 'getUserTeams',
      summary: 'List the teams of a user',
      access: 'session',
      query: TeamListQuery,
      answer: TeamList,
      refusals: ['not-found'],
    },
  },
};

export const adminOperations: OperationFamily = {
  name: 'Administration',
  description: 'Lists over the whole instance, for its administrators.',
  selfHostedOnly: true,
  operations: {
    'GET /admin/users': {
      id: 'getAdminUsers',
      summary: 'List all users',
      query: UserListQuery,
      answer: UserList,
    },
    'GET /admin/teams': {
      id: 'getAdminTeams',
      summary: 'List all teams',
      query: TeamListQuery,
      answer: TeamList,
    },
    'GET /admin/websites': {
      id: 'getAdminWebsites',
      summary: 'List all websites',
      query: TeamWebsitesQuery,
      answer: WebsiteList,
    },
    'GET /admin/audit': {
      id: 'getAdminAudit',
      summary: 'List who changed what',
      description: 'Newest first.',
      query: AuditListQuery,
      answer: AuditList,
    },
  },
};
