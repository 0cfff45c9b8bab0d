import { isApiKey } from '@meridian/registry/credentials';
import type { QueryConfig } from '../query-env.ts';

export type Credential = { kind: 'api-key'; key: string } | { kind: 'session'; token: string };

type CredentialHeaders = { authorization: string | undefined; apiKey: string | undefined };

/** What clients send when they have no credential but do not know it. */
const nothing = new Set(['undefined', 'null', 'None']);
/** Longer is no token of ours. */
const tokenMaxLength = 4096;

/**
 * The credential of a request: `Authorization: Bearer <key or token>` (scheme in any letter case) or
 * `x-umami-api-key: <key>`. Where both are given and differ, a session token wins, else the key of the second header.
 * On cloud only keys count. Null for none and for whatever cannot be one.
 */
export function readCredential(headers: CredentialHeaders, mode: QueryConfig['mode']): Credential | null {
  const bearer = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (mode === 'self-hosted' && bearer !== undefined && isToken(bearer)) return { kind: 'session', token: bearer };
  const { apiKey } = headers;
  const key = apiKey === undefined || apiKey === '' || nothing.has(apiKey) ? bearer : apiKey;
  return key !== undefined && isApiKey(key) ? { kind: 'api-key', key } : null;
}

function isToken(text: string): boolean {
  return text.length <= tokenMaxLength && text.split('.').length === 3;
}
