import { type LoginAnswer, LoginBody } from '@meridian/contract/accounts';
import { ApiError } from '@meridian/runtime/http/api-error';
import { Hono } from 'hono';
import { toProfile } from '../answers/user-record.ts';
import { createClientAddress } from '../auth/client-address.ts';
import { provePassword } from '../auth/prove-password.ts';
import { createSessionTokens } from '../auth/session-token.ts';
import { readJson } from '../http/read-json.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

/**
 * POST /auth/login: a session token for a name and a password. Needs no credential. On cloud nothing of /auth exists.
 */
export function loginRoutes(deps: QueryDeps): Hono<QueryEnv> {
  const routes = new Hono<QueryEnv>();
  if (deps.config.mode === 'cloud')
    return routes.all('/auth/*', () => {
      throw new ApiError('not-found', 'Not found');
    });
  const clientAddress = createClientAddress(deps.config);
  const tokens = createSessionTokens(deps.config.appSecret);
  return routes.post('/auth/login', async (c) => {
    const body = await readJson(c, LoginBody);
    const user = await provePassword(deps, { ...body, address: clientAddress(c) });
    if (!user) throw new ApiError('incorrect-username-password', 'Incorrect username or password.');
    const [token, teams] = await Promise.all([tokens.issue(user, deps.now()), deps.registry.listTeamsOfUser(user.id)]);
    return c.json({ token, user: toProfile(user, teams) } satisfies LoginAnswer);
  });
}
