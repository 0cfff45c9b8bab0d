import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { createSignedTokens } from './signed-tokens.ts';

const kind = {
  use: 'session token',
  typ: 'session+jwt',
  lifetimeSeconds: 7 * 86_400,
  claims: z.object({ sub: z.guid(), jti: z.guid(), exp: z.number(), gen: z.number().int() }),
};

type SessionClaims = {
  sessionId: string;
  userId: string;
  /** The user's count of password changes when the session began. */
  generation: number;
  expiresAt: Date;
};

export type SessionTokens = {
  issue(user: { id: string; sessionGeneration: number }, now: Date): Promise<string>;
  /** Null for a token that is forged, expired, malformed or of another kind. */
  verify(token: string, now: Date): Promise<SessionClaims | null>;
};

/** Session tokens, which live for 7 days. Those that one of `previousSecrets` signed are verified, too. */
export function createSessionTokens(appSecret: string, previousSecrets: readonly string[] = []): SessionTokens {
  const tokens = createSignedTokens([appSecret, ...previousSecrets], kind);
  return {
    issue: (user, now) => tokens.issue({ sub: user.id, jti: randomUUID(), gen: user.sessionGeneration }, now),
    async verify(token, now) {
      const claims = await tokens.verify(token, now);
      if (!claims) return null;
      const { sub, jti, exp, gen } = claims;
      return { sessionId: jti, userId: sub, generation: gen, expiresAt: new Date(exp * 1_000) };
    },
  };
}
