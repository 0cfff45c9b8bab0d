import type { Profile } from '@meridian/contract/accounts';
import { ApiError } from '@meridian/runtime/http/api-error';
import { Hono } from 'hono';
import { toProfile, userOfCaller } from '../answers/user-record.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

/** POST and GET /auth/verify, POST /auth/logout; not reached on cloud (login.ts). */
export function sessionRoutes({ registry }: QueryDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>()
    .on(['GET', 'POST'], '/auth/verify', async (c) => {
      const caller = c.get('caller');
      const teams = await registry.listTeamsOfUser(caller.userId);
      return c.json(toProfile(userOfCaller(caller), teams) satisfies Profile);
    })
    .post('/auth/logout', async (c) => {
      const { credential } = c.get('caller');
      if (credential.kind !== 'session') throw new ApiError('forbidden', 'An API key is ended by deleting it.');
      await registry.endSession(credential.sessionId, credential.expiresAt);
      return c.json({ ok: true });
    });
}
