import { isApiKey } from '@meridian/registry/credentials';
import type { QueryConfig } from '../query-env.ts';

/** Of an account. `key`: sent beside a token, and counts when that is none of ours, as a login proxy's. */
type AccountCredential = { kind: 'api-key'; key: string } | { kind: 'session'; token: string; key?: string };

export type Credential = AccountCredential | { kind: 'share'; token: string };

type AccountHeaders = { authorization: string | undefined; apiKey: string | undefined };
type CredentialHeaders = AccountHeaders & { shareToken?: string | undefined; shareContext?: string | undefined };

/** What clients send when they have no credential but do not know it. */
const nothing = new Set(['undefined', 'null', 'None']);
/** Longer is no token of ours. */
const tokenMaxLength = 4096;

/**
 * The credential of a request: an account's, or the token of a share link in `x-umami-share-token`. Where both are
 * given the account counts, unless `x-umami-share-context` says that it is the link's page that asks. Null for none and
 * for whatever cannot be one.
 */
export function readCredential(headers: CredentialHeaders, mode: QueryConfig['mode']): Credential | null {
  const account = readAccountCredential(headers, mode);
  const { shareToken = '', shareContext = '' } = headers;
  const asksByLink = account === null || shareContext !== '';
  return asksByLink && isToken(shareToken) ? { kind: 'share', token: shareToken } : account;
}

/**
 * `Authorization: Bearer <key or token>` (scheme in any letter case) or
 * `x-umami-api-key: <key>`. Where both are given and differ, a session token wins, else the key of the second header.
 * On cloud only keys count.
 */
function readAccountCredential(headers: AccountHeaders, mode: QueryConfig['mode']): AccountCredential | null {
  const bearer = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  const { apiKey } = headers;
  const key = apiKey === undefined || apiKey === '' || nothing.has(apiKey) ? bearer : apiKey;
  const byKey = key !== undefined && isApiKey(key) ? { kind: 'api-key' as const, key } : null;
  if (mode === 'cloud' || bearer === undefined || !isToken(bearer)) return byKey;
  return { kind: 'session', token: bearer, ...(byKey && { key: byKey.key }) };
}

function isToken(text: string): boolean {
  return text.length <= tokenMaxLength && text.split('.').length === 3;
}
