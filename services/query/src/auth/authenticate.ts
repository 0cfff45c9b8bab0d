import { hashApiKey } from '@meridian/registry/credentials';
import type { User } from '@meridian/registry/rows';
import { ApiError } from '@meridian/runtime/http/api-error';
import { Lru } from '@meridian/runtime/lru';
import type { MiddlewareHandler } from 'hono';
import type { Caller, QueryDeps, QueryEnv, ShareReader } from '../query-env.ts';
import { readCredential } from './credential.ts';
import { createSessionTokens, type SessionTokens } from './session-token.ts';
import { createShareTokens, type ShareTokens } from './share-token.ts';
import { assertReadableByShare } from './share-token-routes.ts';

const minuteMs = 60_000;
const touchedMax = 10_000;

type AuthDeps = Pick<QueryDeps, 'registry' | 'config' | 'logger' | 'now'>;

/**
 * Sets `reader`, and `caller` where it is an account, or refuses with 401, a share link that asks what it may not with
 * 403. Every request asks the registry, whose memory follows every change: a deleted key or user and an ended session
 * or link are refused at once by the process that ended them, within two seconds by every other. On cloud no sessions
 * count.
 */
export function authenticate(deps: AuthDeps): MiddlewareHandler<QueryEnv> {
  const { appSecret, previousAppSecrets } = deps.config;
  const tokens = createSessionTokens(appSecret, previousAppSecrets);
  const shareTokens = createShareTokens(appSecret, previousAppSecrets);
  const touch = createTouch(deps);
  return async (c, next) => {
    const headers = {
      authorization: c.req.header('authorization'),
      apiKey: c.req.header('x-umami-api-key'),
      shareToken: c.req.header('x-umami-share-token'),
      shareContext: c.req.header('x-umami-share-context'),
    };
    const credential = readCredential(headers, deps.config.mode);
    if (credential?.kind === 'share') {
      const reader = await readerOfShare(deps, shareTokens, credential.token);
      if (!reader) throw new ApiError('unauthorized', 'Unauthorized');
      c.get('logFields').shareId = reader.share.id;
      assertReadableByShare(c, reader);
      c.set('reader', reader);
      return next();
    }
    const session = credential?.kind === 'session' && (await callerOfSession(deps, tokens, credential.token));
    const caller = session || (credential?.key && (await callerOfKey(deps, credential.key, touch)));
    if (!caller) throw new ApiError('unauthorized', 'Unauthorized');
    c.set('caller', caller);
    c.set('reader', caller);
    await next();
  };
}

async function callerOfKey(
  { registry }: AuthDeps,
  key: string,
  touch: (keyId: string) => void,
): Promise<Caller | null> {
  const found = await registry.findCallerByKeyHash(hashApiKey(key));
  if (!found) return null;
  const { id, name } = found.key;
  touch(id);
  return toCaller(found.user, { kind: 'api-key', keyId: id, name });
}

/** Notes the use of a key, once a minute and off the request's path. */
function createTouch({ registry, logger, now }: AuthDeps): (keyId: string) => void {
  const touchedAtMs = new Lru<string, number>(touchedMax);
  return (keyId) => {
    const at = now();
    if (at.getTime() - (touchedAtMs.get(keyId) ?? 0) < minuteMs) return;
    touchedAtMs.set(keyId, at.getTime());
    registry.touchApiKey(keyId, at).catch((err: unknown) => logger.warn({ err, keyId }, 'lastUsedAt not written'));
  };
}

async function callerOfSession(deps: AuthDeps, tokens: SessionTokens, token: string): Promise<Caller | null> {
  const claims = await tokens.verify(token, deps.now());
  if (!claims) return null;
  const { sessionId, userId, generation, expiresAt } = claims;
  const user = await deps.registry.findSessionUser({ id: sessionId, userId, generation });
  return user && toCaller(user, { kind: 'session', sessionId, expiresAt });
}

/** Of a link that is as it was when the token was given out: one with another slug is another link. */
async function readerOfShare(deps: AuthDeps, tokens: ShareTokens, token: string): Promise<ShareReader | null> {
  const claims = await tokens.verify(token, deps.now());
  if (!claims) return null;
  const share = await deps.registry.findShare(claims.id);
  return share?.slug === claims.slug && share.websiteId === claims.websiteId ? { share } : null;
}

function toCaller(user: User, credential: Caller['credential']): Caller {
  const { id, username, role, homeRegion, createdAt } = user;
  return { userId: id, username, role, homeRegion, createdAt, credential };
}
