import { z } from 'zod';
import { pageAnswer, pageQuery } from './paging.ts';
import { ShareTokenRecord } from './shares.ts';

export const AccountRole = z.enum(['admin', 'user', 'view-only']);

export const Username = z.string().trim().min(1).max(255);
const NewPassword = z.string().min(8).max(255);

export const LoginBody = z.object({ username: Username, password: z.string().min(1).max(255) });

export const ChangePasswordBody = z.object({ currentPassword: z.string().min(1).max(255), newPassword: NewPassword });

export const CreateUserBody = z.object({
  id: z.guid('must be a UUID').nullish(),
  username: Username,
  password: NewPassword,
  role: AccountRole,
});

/** What is left out stays. */
export const UpdateUserBody = z.object({
  username: Username.optional(),
  password: NewPassword.optional().describe("Ends the user's sessions."),
  role: AccountRole.optional(),
});

export const UserListQuery = z.object({
  ...pageQuery,
  search: z.string().default('').describe('Part of the username, in any letter case.'),
});

/** `label` is an alias of `name`. */
export const CreateApiKeyBody = z.preprocess(
  (body) => (isRecord(body) && body.name === undefined ? { ...body, name: body.label } : body),
  z.object({ name: z.string().trim().min(1).max(255) }),
);

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

export const UserRecord = z.object({
  id: z.guid(),
  username: z.string(),
  role: AccountRole,
  createdAt: z.iso.datetime(),
});
export type UserRecord = z.infer<typeof UserRecord>;

export const UserList = pageAnswer(UserRecord);
export type UserList = z.infer<typeof UserList>;

/** The caller as login and verify show it. */
export const Profile = UserRecord.extend({
  isAdmin: z.boolean(),
  teams: z.array(z.object({ id: z.guid(), name: z.string(), logoUrl: z.string().nullable() })),
});
export type Profile = z.infer<typeof Profile>;

export const LoginAnswer = z.object({ token: z.string().describe('A JWT, to be sent as bearer.'), user: Profile });
export type LoginAnswer = z.infer<typeof LoginAnswer>;

/** Who the credential is. */
export const MeAnswer = z.object({
  authType: z.enum(['api-key', 'session', 'share-token']),
  apiKey: z.object({ id: z.guid(), name: z.string() }).nullable().describe('Null for a session.'),
  shareToken: ShareTokenRecord.nullable(),
  user: z.object({ id: z.guid(), username: z.string(), role: AccountRole, isAdmin: z.boolean() }).nullable(),
});
export type MeAnswer = z.infer<typeof MeAnswer>;

export const ApiKeyRecord = z.object({
  id: z.guid(),
  name: z.string(),
  keyPrefix: z.string().describe('The first characters of the key.'),
  createdAt: z.iso.datetime(),
  lastUsedAt: z.iso.datetime().nullable().describe('To the minute; null until the key is used.'),
});
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

export const CreatedApiKey = ApiKeyRecord.extend({ key: z.string().describe('Shown here and never again.') });
export type CreatedApiKey = z.infer<typeof CreatedApiKey>;
