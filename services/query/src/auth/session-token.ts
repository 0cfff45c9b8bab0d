import { createHmac, randomUUID } from 'node:crypto';
import { Lru } from '@meridian/runtime/lru';
import { errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';

const algorithm = 'HS256';
/** Tells this kind of token from every other that the same secret signs. */
const typ = 'session+jwt';
const issuer = 'meridian';
const lifetimeSeconds = 7 * 86_400;
const verifiedMax = 5_000;

const Claims = z.object({ sub: z.guid(), jti: z.guid(), exp: z.number(), gen: z.number().int() });

export type SessionClaims = {
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

/** Session tokens: JWTs, HS256, that live for 7 days. The signing key is derived, so no other kind of token shares it. */
export function createSessionTokens(appSecret: string): SessionTokens {
  const key = createHmac('sha256', appSecret).update('session token').digest();
  /** By their text, which says the same for ever: only the time decides whether it still counts. */
  const verified = new Lru<string, SessionClaims>(verifiedMax);
  return {
    issue(user, now) {
      const issuedAtSeconds = Math.floor(now.getTime() / 1000);
      return new SignJWT({ gen: user.sessionGeneration })
        .setProtectedHeader({ alg: algorithm, typ })
        .setIssuer(issuer)
        .setSubject(user.id)
        .setJti(randomUUID())
        .setIssuedAt(issuedAtSeconds)
        .setExpirationTime(issuedAtSeconds + lifetimeSeconds)
        .sign(key);
    },
    async verify(token, now) {
      const known = verified.get(token);
      if (known) return now < known.expiresAt ? known : null;
      const claims = Claims.safeParse(await verifiedPayload(token, key, now));
      if (!claims.success) return null;
      const { sub, jti, exp, gen } = claims.data;
      const session = { sessionId: jti, userId: sub, generation: gen, expiresAt: new Date(exp * 1000) };
      verified.set(token, session);
      return session;
    },
  };
}

async function verifiedPayload(token: string, key: Uint8Array, now: Date): Promise<unknown> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [algorithm],
      typ,
      issuer,
      currentDate: now,
      requiredClaims: ['iat', 'exp', 'sub', 'jti'],
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}
