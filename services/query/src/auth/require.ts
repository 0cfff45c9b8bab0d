import { ApiError } from '@meridian/runtime/http/api-error';
import type { MiddlewareHandler } from 'hono';
import type { QueryDeps, QueryEnv } from '../query-env.ts';
import { may } from './permissions.ts';

/** 403 for an API key: what follows is for people who logged in. */
export const requireSession: MiddlewareHandler<QueryEnv> = async (c, next) => {
  if (c.get('caller').credential.kind !== 'session')
    throw new ApiError('forbidden', 'This is not available with an API key.');
  await next();
};

/** 403 for everybody who may not do this over the whole instance: all but administrators of a self-hosted one. */
export function requireAdministrator(
  { config }: Pick<QueryDeps, 'config'>,
  action: 'manage users' | 'list everything' = 'list everything',
): MiddlewareHandler<QueryEnv> {
  return async (c, next) => {
    if (!may(c.get('caller'), action, config.mode)) throw new ApiError('forbidden', 'Only for administrators.');
    await next();
  };
}
