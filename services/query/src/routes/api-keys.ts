import { type ApiKeyRecord, CreateApiKeyBody, type CreatedApiKey } from '@meridian/contract/accounts';
import { apiKeyPrefix, hashApiKey, newApiKey } from '@meridian/registry/credentials';
import type { ApiKey } from '@meridian/registry/rows';
import { ApiError } from '@meridian/runtime/http/api-error';
import { Hono } from 'hono';
import { actorOf } from '../auth/actor-of.ts';
import { readJson } from '../http/read-json.ts';
import type { QueryDeps, QueryEnv } from '../query-env.ts';

/** /me/api-keys: the caller's own keys. A key may manage keys, itself included. */
export function apiKeyRoutes({ registry }: QueryDeps): Hono<QueryEnv> {
  return new Hono<QueryEnv>()
    .get('/me/api-keys', async (c) => {
      const keys = await registry.listApiKeys(c.get('caller').userId);
      return c.json(keys.map(toApiKeyRecord));
    })
    .post('/me/api-keys', async (c) => {
      const { name } = await readJson(c, CreateApiKeyBody);
      const key = newApiKey();
      const created = await registry.createApiKey(
        {
          userId: c.get('caller').userId,
          name,
          keyHash: hashApiKey(key),
          keyPrefix: apiKeyPrefix(key),
        },
        actorOf(c),
      );
      return c.json({ ...toApiKeyRecord(created), key } satisfies CreatedApiKey);
    })
    .delete('/me/api-keys/:keyId', async (c) => {
      const deleted = await registry.deleteApiKey(c.get('caller').userId, c.req.param('keyId'), actorOf(c));
      if (!deleted) throw new ApiError('not-found', 'API key not found');
      return c.json({ ok: true });
    });
}

function toApiKeyRecord({ id, name, keyPrefix, createdAt, lastUsedAt }: ApiKey): ApiKeyRecord {
  return {
    id,
    name,
    keyPrefix,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  };
}
