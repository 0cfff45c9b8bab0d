import { createHmac, timingSafeEqual } from 'node:crypto';
import type { PendingEvent } from '@meridian/queue/collected-event';
import type { VisitHint } from '@meridian/queue/placement';
import { createHmacSha256, hmacLength } from './hmac.ts';

/** What a sender hands back with its next event (header `x-umami-cache`), so that its session and visit go on. */
export type CacheToken = VisitHint & {
  websiteId: string;
  sessionId: string;
  /** The visitor's id that the application gave, '' for none. */
  distinctId: string;
  /** Unix seconds. */
  issuedAtSeconds: number;
};

/** A token before the event log has chosen the visit. */
export type TokenSeed = Omit<CacheToken, keyof VisitHint>;

/** Of the token that answers the event. */
export function toTokenSeed({ websiteId, sessionId, distinctId }: PendingEvent, nowMs: number): TokenSeed {
  return { websiteId, sessionId, distinctId, issuedAtSeconds: Math.floor(nowMs / 1_000) };
}

export type CacheTokens = {
  sign(seed: TokenSeed, visit: VisitHint): string;
  /** Null for everything that is not a token of ours, whole and at most 24 hours old. */
  verify(text: string | undefined, nowMs: number): CacheToken | null;
};

const lifeSeconds = 86_400;
const longestText = 1_024;
const radix = 36;

/**
 * Text: website, session, visit, time of its last event, time of issue and visitor's id (base64url), then an HMAC of
 * all that, joined by dots. Its key serves nothing else, so that no other signed thing can pass for a cache token.
 * Tokens that one of `previousSecrets` signed are verified, too.
 */
export function createCacheTokens(appSecret: string, previousSecrets: readonly string[] = []): CacheTokens {
  const sign = hmacOf(appSecret);
  const signs = [sign, ...previousSecrets.map(hmacOf)];

  return {
    sign({ websiteId, sessionId, distinctId, issuedAtSeconds }, { visitId, lastAtMs }) {
      const id = distinctId === '' ? '' : Buffer.from(distinctId).toString('base64url');
      const signed = `${websiteId}.${sessionId}.${visitId}.${lastAtMs.toString(radix)}.${issuedAtSeconds.toString(radix)}.${id}`;
      return `${signed}.${sign(signed)}`;
    },

    verify(text, nowMs) {
      if (text === undefined || text.length > longestText) return null;
      const end = text.lastIndexOf('.');
      if (end === -1) return null;
      const [signed, signature] = [text.slice(0, end), text.slice(end + 1)];
      if (!signs.some((signBy) => areEqual(signBy(signed), signature))) return null;
      const [websiteId = '', sessionId = '', visitId = '', lastAt = '', issuedAt = '', id = ''] = text.split('.');
      const issuedAtSeconds = Number.parseInt(issuedAt, radix);
      if (issuedAtSeconds + lifeSeconds < nowMs / 1_000) return null;
      return {
        websiteId,
        sessionId,
        visitId,
        lastAtMs: Number.parseInt(lastAt, radix),
        distinctId: id === '' ? '' : Buffer.from(id, 'base64url').toString(),
        issuedAtSeconds,
      };
    },
  };
}

const hmacOf = (secret: string) =>
  createHmacSha256(createHmac('sha256', secret).update('key of cache tokens').digest());

const expectedBytes = Buffer.alloc(hmacLength);
const givenBytes = Buffer.alloc(hmacLength);

/**
 * In a time that does not tell how much of `given`, a header's text in Latin-1, is right. By bytes: characters of texts
 * of many inner forms cost a look-up each.
 */
function areEqual(expected: string, given: string): boolean {
  if (given.length !== hmacLength) return false;
  expectedBytes.write(expected, 'latin1');
  givenBytes.write(given, 'latin1');
  return timingSafeEqual(expectedBytes, givenBytes);
}
