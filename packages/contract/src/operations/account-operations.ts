import { z } from 'zod';
import {
  ApiKeyRecord,
  ChangePasswordBody,
  CreateApiKeyBody,
  CreatedApiKey,
  LoginAnswer,
  LoginBody,
  MeAnswer,
  Profile,
  UserRecord,
} from '../accounts.ts';
import { WebsiteList, WebsiteListQuery } from '../websites.ts';
import { Done, type OperationFamily } from './operation.ts';

export const sessionOperations: OperationFamily = {
  name: 'Sessions',
  description: 'Log in with a username and a password.',
  selfHostedOnly: true,
  operations: {
    'POST /auth/login': {
      id: 'login',
      summary: 'Log in',
      description: 'After 10 failures in 15 minutes the account is locked for 15 minutes, for the right password too.',
      access: 'anybody',
      body: LoginBody,
      answer: LoginAnswer,
      refusals: ['incorrect-username-password', 'rate-limited'],
    },
    'POST /auth/verify': { id: 'verify', summary: 'Check a credential', answer: Profile },
    'GET /auth/verify': { id: 'verifyByGet', summary: 'Check a credential, as older clients do', answer: Profile },
    'POST /auth/logout': { id: 'logout', summary: 'End the session', access: 'session', answer: Done },
  },
};

export const selfOperations: OperationFamily = {
  name: 'Me',
  description: 'The caller itself.',
  operations: {
    'GET /me': { id: 'getMe', summary: 'Who the credential is', access: 'reader', answer: MeAnswer },
    'GET /me/websites': {
      id: 'getMyWebsites',
      summary: 'List own websites',
      query: WebsiteListQuery,
      answer: WebsiteList,
    },
  },
};

export const passwordOperations: OperationFamily = {
  name: 'Password',
  description: 'The own password.',
  selfHostedOnly: true,
  operations: {
    'POST /me/password': {
      id: 'updateMyPassword',
      summary: 'Change the own password',
      description: 'Ends all sessions of the caller, this one too.',
      access: 'session',
      body: ChangePasswordBody,
      answer: UserRecord,
    },
  },
};

export const apiKeyOperations: OperationFamily = {
  name: 'API keys',
  description: "The caller's own keys. A key has the rights of its owner and may manage keys, itself included.",
  operations: {
    'GET /me/api-keys': { id: 'getMyApiKeys', summary: 'List API keys', answer: z.array(ApiKeyRecord) },
    'POST /me/api-keys': {
      id: 'createMyApiKey',
      summary: 'Create an API key',
      body: CreateApiKeyBody,
      answer: CreatedApiKey,
    },
    'DELETE /me/api-keys/{keyId}': {
      id: 'deleteMyApiKey',
      summary: 'Delete an API key',
      description: 'Whoever still uses it is refused within two seconds.',
      answer: Done,
      refusals: ['not-found'],
    },
  },
};
