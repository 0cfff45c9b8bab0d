import { hash, verify } from '@node-rs/argon2';

/** A hash of no password, with the parameters of `hashPassword`. */
export const decoyHash =
  '$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

/** argon2id with the library's defaults (19 MiB, 2 passes), computed off the event loop. */
export async function hashPassword(password: string): Promise<string> {
  return hash(password);
}

/**
 * Is it the password of this hash? Without a hash (unknown user) the answer is no, after the same work, so that the
 * time it takes does not tell which names exist.
 */
export async function verifyPassword(passwordHash: string | undefined, password: string): Promise<boolean> {
  const matches = await verify(passwordHash ?? decoyHash, password);
  return matches && passwordHash !== undefined;
}
