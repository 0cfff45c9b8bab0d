import { verifyPassword } from '@meridian/registry/credentials';
import type { QueryDeps } from '../query-env.ts';
import { throttleLogin } from './login-throttle.ts';

type PasswordClaim = {
  username: string;
  password: string;
  /** Of the client; too many failures from there are refused. */
  address: string;
};

/**
 * Does the claim name a user and its password? Then the user's credentials, else null. An unknown user takes as long
 * as a wrong password.
 * @throws ApiError 429 after too many failures
 */
export async function provePassword(
  deps: Pick<QueryDeps, 'registry' | 'redis' | 'logger'>,
  { username, password, address }: PasswordClaim,
) {
  return throttleLogin(deps, { username, address }, async () => {
    const user = await deps.registry.findUserByUsername(username);
    return (await verifyPassword(user?.passwordHash, password)) ? user : null;
  });
}
