import { ChangePasswordBody, type MeAnswer, type UserRecord } from '@meridian/contract/accounts';
import { shareTypes } from '@meridian/contract/shares';
import { hashPassword } from '@meridian/registry/credentials';
import { ApiError } from '@meridian/runtime/http/api-error';
import { Hono } from 'hono';
import { toUserRecord } from '../answers/user-record.ts';
import { actorOf } from '../auth/actor-of.ts';
import { createClientAddress } from '../auth/client-address.ts';
import { provePassword } from '../auth/prove-password.ts';
import { requireSession } from '../auth/require.ts';
import { badRequest } from '../http/bad-request.ts';
import { readJson } from '../http/read-json.ts';
import type { QueryDeps, QueryEnv, Reader } from '../query-env.ts';

/** GET /me: who the credential is. POST /me/password: a new password, which ends all sessions of the caller. */
export function meRoutes(deps: QueryDeps): Hono<QueryEnv> {
  const clientAddress = createClientAddress(deps.config);
  return new Hono<QueryEnv>()
    .get('/me', (c) => c.json(toMeAnswer(c.get('reader')) satisfies MeAnswer))
    .post('/me/password', requireSession, async (c) => {
      const { currentPassword, newPassword } = await readJson(c, ChangePasswordBody);
      const { userId, username } = c.get('caller');
      const claim = { username, password: currentPassword, address: clientAddress(c) };
      if (!(await provePassword(deps, claim))) throw badRequest('currentPassword', 'is not right');
      const updated = await deps.registry.updateUser(
        userId,
        { passwordHash: await hashPassword(newPassword) },
        actorOf(c),
      );
      if (!updated.ok) throw new ApiError('unauthorized', 'Unauthorized');
      return c.json(toUserRecord(updated.user) satisfies UserRecord);
    });
}

function toMeAnswer(reader: Reader): MeAnswer {
  if ('share' in reader) {
    const { websiteId, parameters } = reader.share;
    return {
      authType: 'share-token',
      apiKey: null,
      shareToken: { shareType: shareTypes.website, websiteId, parameters },
      user: null,
    };
  }
  const { userId, username, role, credential } = reader;
  return {
    authType: credential.kind,
    apiKey: credential.kind === 'api-key' ? { id: credential.keyId, name: credential.name } : null,
    shareToken: null,
    user: { id: userId, username, role, isAdmin: role === 'admin' },
  };
}
