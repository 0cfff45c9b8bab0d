import { z } from 'zod';
import { createSignedTokens } from './signed-tokens.ts';

const kind = {
  use: 'share token',
  typ: 'share+jwt',
  lifetimeSeconds: 7 * 86_400,
  claims: z.object({ sub: z.guid(), exp: z.number(), website: z.guid(), slug: z.string() }),
};

/** The link that a token was given out for, as it was then. */
type ShareClaims = { id: string; websiteId: string; slug: string };

export type ShareTokens = {
  issue(share: ShareClaims, now: Date): Promise<string>;
  /** Null for a token that is forged, expired, malformed or of another kind. */
  verify(token: string, now: Date): Promise<ShareClaims | null>;
};

/** Tokens of share links, which live for 7 days at most: whether the link still exists is the registry's to say. */
export function createShareTokens(appSecret: string, previousSecrets: readonly string[] = []): ShareTokens {
  const tokens = createSignedTokens([appSecret, ...previousSecrets], kind);
  return {
    issue: ({ id, websiteId, slug }, now) => tokens.issue({ sub: id, website: websiteId, slug }, now),
    async verify(token, now) {
      const claims = await tokens.verify(token, now);
      return claims && { id: claims.sub, websiteId: claims.website, slug: claims.slug };
    },
  };
}
