import { createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { createJobs } from '@meridian/queue/jobs';
import { connectRedis } from '@meridian/runtime/redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueryApp } from '../create-query-app.ts';
import { createTestApi } from '../query-fixtures.ts';

const nowhere = 'redis://127.0.0.1:1';
let api: Awaited<ReturnType<typeof createTestApi>>;

beforeAll(async () => {
  const [postgres, redis] = await Promise.all([createPostgresDatabase(), createRedisDatabase()]);
  api = await createTestApi({ postgres, redis, clickhouseUrl: process.env.TEST_CLICKHOUSE_URL ?? '' });
});
afterAll(() => api.close());

test('while Redis is away websites are made, reset and deleted, nobody logs in, and no answer shows the inside', async () => {
  const account = await api.newAccount();
  const redis = connectRedis(nowhere, { role: 'producer', logger: api.deps.logger });
  const jobs = createJobs(nowhere);
  const app = createQueryApp({ ...api.deps, redis, jobs });
  const headers = { authorization: `Bearer ${account.token}` };
  const call = async (method: string, path: string, body?: object) => {
    const answer = await app.request(`/api${path}`, { method, headers, body: body ? JSON.stringify(body) : null });
    const text = await answer.text();
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text, json: JSON.parse(text) };
  };

  const created = await call('POST', '/websites', { name: 'Shop', domain: 'shop.example' });
  expect(created.status).toBe(200);
  expect((await call('POST', `/websites/${created.json.id}/reset`)).json).toEqual({ ok: true });
  expect(await api.deps.registry.listPendingResets('us')).toMatchObject([{ id: created.json.id }]);
  const refused = await call('POST', '/auth/login', { username: account.username, password: account.password });
  expect([refused.status, Number(refused.retryAfter) > 0]).toEqual([503, true]);
  expect(refused.text).not.toMatch(/redis|ECONN/i);
  expect((await call('DELETE', `/websites/${created.json.id}`)).json).toEqual({ ok: true });
  expect(await api.deps.registry.listUnpurgedWebsites('us')).toContain(created.json.id);

  redis.disconnect();
  await jobs.close();
});
