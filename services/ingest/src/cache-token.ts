import { createHmac, timingSafeEqual } from 'node:crypto';
import { readUuid, writeUuid } from '@meridian/queue/uuid-bytes';
import { createHmacSha256 } from './hmac.ts';

/** What a sender hands back with its next event (header `x-umami-cache`), so that its session and visit go on. */
export type CacheToken = {
  websiteId: string;
  sessionId: string;
  visitId: string;
  /** Time of the event that the token answered, Unix ms. */
  lastAtMs: number;
  /** The visitor's id that the application gave, '' for none. */
  distinctId: string;
  /** Unix seconds. */
  issuedAtSeconds: number;
};

export type CacheTokens = {
  sign(token: CacheToken): string;
  /** Null for everything that is not a token of ours, whole and at most 24 hours old. */
  verify(text: string | undefined, nowMs: number): CacheToken | null;
};

const lifeSeconds = 86_400;
const kind = 1;
const sessionAt = 17;
const visitAt = 33;
const lastAt = 49;
const issuedAt = 55;
const idAt = 59;
const signatureBytes = 16;
const shortestText = Math.ceil(((idAt + signatureBytes) * 4) / 3);
/** 200 characters of id take at most three bytes each. */
const longestText = Math.ceil(((idAt + 600 + signatureBytes) * 4) / 3);

/**
 * Bytes in base64url: kind, website, session, visit, time of the last event, time of issue, visitor's id, and an HMAC of
 * all that, cut to 128 bits. Its key serves nothing else, so that no other signed thing can pass for a cache token.
 */
export function createCacheTokens(appSecret: string): CacheTokens {
  const hmac = createHmacSha256(createHmac('sha256', appSecret).update('key of cache tokens').digest());

  return {
    sign(token) {
      const signedLength = idAt + Buffer.byteLength(token.distinctId);
      const bytes = Buffer.allocUnsafe(signedLength + signatureBytes);
      bytes[0] = kind;
      writeUuid(bytes, 1, token.websiteId);
      writeUuid(bytes, sessionAt, token.sessionId);
      writeUuid(bytes, visitAt, token.visitId);
      bytes.writeUIntBE(token.lastAtMs, lastAt, 6);
      bytes.writeUInt32BE(token.issuedAtSeconds, issuedAt);
      bytes.write(token.distinctId, idAt);
      bytes.write(hmac(bytes.subarray(0, signedLength)), signedLength, signatureBytes, 'latin1');
      return bytes.toString('base64url');
    },

    verify(text, nowMs) {
      if (text === undefined || text.length < shortestText || text.length > longestText) return null;
      const bytes = Buffer.from(text, 'base64url');
      const signedLength = bytes.length - signatureBytes;
      if (signedLength < idAt || bytes[0] !== kind) return null;
      const signed = bytes.subarray(0, signedLength);
      const signature = Buffer.from(hmac(signed).slice(0, signatureBytes), 'latin1');
      if (!timingSafeEqual(signature, bytes.subarray(signedLength))) return null;
      const issuedAtSeconds = bytes.readUInt32BE(issuedAt);
      if (issuedAtSeconds + lifeSeconds < nowMs / 1_000) return null;
      return {
        websiteId: readUuid(bytes, 1),
        sessionId: readUuid(bytes, sessionAt),
        visitId: readUuid(bytes, visitAt),
        lastAtMs: bytes.readUIntBE(lastAt, 6),
        distinctId: signed.toString('utf8', idAt),
        issuedAtSeconds,
      };
    },
  };
}
