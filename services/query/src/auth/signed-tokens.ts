import { createHmac } from 'node:crypto';
import { Lru } from '@meridian/runtime/lru';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { z } from 'zod';

const algorithm = 'HS256';
const issuer = 'meridian';
const verifiedMax = 5_000;

/**
 * A kind of token. Neither `use` nor `typ` is that of another kind, so that no token passes for one of another kind.
 */
type TokenKind<Claims> = {
  /** What the signing key is derived for. */
  use: string;
  typ: string;
  lifetimeSeconds: number;
  /** What every token carries beside issuer and times. */
  claims: z.ZodType<Claims>;
};

type SignedTokens<Claims> = {
  issue(claims: JWTPayload, now: Date): Promise<string>;
  /** Null for a token that is forged, expired, malformed or of another kind. */
  verify(token: string, now: Date): Promise<Claims | null>;
};

/**
 * JWTs of one kind, HS256. `secrets`: the application's, at least 32 bytes each; the first signs, all verify, so that
 * tokens outlive its rotation. What is signed is signed with a key derived from it, never with the secret itself.
 */
export function createSignedTokens<Claims extends { exp: number }>(
  secrets: readonly [string, ...string[]],
  { use, typ, lifetimeSeconds, claims: Claims }: TokenKind<Claims>,
): SignedTokens<Claims> {
  const keyOf = (secret: string) => createHmac('sha256', secret).update(use).digest();
  const [current, ...previous] = secrets;
  const signingKey = keyOf(current);
  const keys = [signingKey, ...previous.map(keyOf)];
  /** By their text, which says the same for ever: only the time decides whether it still counts. */
  const verified = new Lru<string, Claims>(verifiedMax);

  async function payloadOf(token: string, now: Date): Promise<JWTPayload | null> {
    const requiredClaims = ['iat', 'exp', 'sub'];
    for (const key of keys) {
      try {
        return (await jwtVerify(token, key, { algorithms: [algorithm], typ, issuer, currentDate: now, requiredClaims }))
          .payload;
      } catch (error) {
        if (error instanceof errors.JWSSignatureVerificationFailed) continue;
        if (error instanceof errors.JOSEError) return null;
        throw error;
      }
    }
    return null;
  }

  return {
    issue(claims, now) {
      const issuedAtSeconds = Math.floor(now.getTime() / 1_000);
      return new SignJWT(claims)
        .setProtectedHeader({ alg: algorithm, typ })
        .setIssuer(issuer)
        .setIssuedAt(issuedAtSeconds)
        .setExpirationTime(issuedAtSeconds + lifetimeSeconds)
        .sign(signingKey);
    },
    async verify(token, now) {
      const known = verified.get(token);
      if (known) return now.getTime() < known.exp * 1_000 ? known : null;
      const claims = Claims.safeParse(await payloadOf(token, now));
      if (!claims.success) return null;
      verified.set(token, claims.data);
      return claims.data;
    },
  };
}
