import type { Actor } from '@meridian/registry/rows';
import type { Context } from 'hono';
import type { QueryEnv } from '../query-env.ts';

/** Who the audit log says has made a change that this request asks for. */
export function actorOf(c: Context<QueryEnv>): Actor {
  const { userId, username: name, credential } = c.get('caller');
  const keyId = credential.kind === 'api-key' ? credential.keyId : null;
  return { userId, name, keyId, requestId: c.get('requestId') };
}
