import { randomUUID } from 'node:crypto';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import { createPeers } from '@meridian/peers/peers';
import { createLogger } from '@meridian/runtime/logger';
import { connectRedis } from '@meridian/runtime/redis';
import { Hono } from 'hono';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createQueryCounts } from '../query-counts.ts';
import type { Caller, QueryEnv } from '../query-env.ts';
import { answerError } from './answer-error.ts';
import { rateLimit } from './rate-limit.ts';

const logger = createLogger({ service: 'query', level: 'silent' });
let store: Awaited<ReturnType<typeof createRedisDatabase>>;
let redis: Redis;

beforeAll(async () => {
  store = await createRedisDatabase();
  // One that waits: on a busy machine an answer may take longer than the API would wait for it before it serves
  // uncounted.
  redis = connectRedis(store.url, { role: 'worker', logger });
  await redis.connect();
});
afterAll(async () => {
  redis.disconnect();
  await store.drop();
});

/** One process of the API; a request says in `key` by which API key it comes, or by a session without. */
const peers = createPeers('us', { PEERS: new Map() });

function createProcess(connection: Redis, counts = createQueryCounts()) {
  const app = new Hono<QueryEnv>();
  app.onError(answerError());
  return app
    .use(async (c, next) => {
      const keyId = c.req.query('key');
      const credential: Caller['credential'] = keyId
        ? { kind: 'api-key', keyId, name: 'test' }
        : { kind: 'session', sessionId: 's', expiresAt: new Date(0) };
      c.set('caller', {
        userId: 'u',
        username: 'u',
        role: 'user',
        homeRegion: 'us',
        createdAt: new Date(0),
        credential,
      });
      await next();
    })
    .get('/', rateLimit({ peers, redis: connection, logger, counts }), (c) => c.json({ ok: true }));
}
const ask = async (keyId: string, process = createProcess(redis)) => {
  const { status, headers } = await process.request(`/?key=${keyId}`);
  const header = (name: string) => Number(headers.get(name) ?? Number.NaN);
  return {
    status,
    limit: header('ratelimit-limit'),
    remaining: header('ratelimit-remaining'),
    resetSeconds: header('ratelimit-reset'),
    retryAfterSeconds: header('retry-after'),
  };
};
const burst = async (keyId: string, count: number, ...processes: ReturnType<typeof createProcess>[]) => {
  const answers = Array.from({ length: count }, (_, i) => ask(keyId, processes[i % processes.length]));
  return (await Promise.all(answers)).filter(({ status }) => status === 200).length;
};
/** Ends the window now, as Redis's clock would. */
const endWindow = async (keyId: string) => {
  await redis.pexpire(`ratelimit:{${keyId}}`, 1);
  await vi.waitUntil(async () => (await redis.exists(`ratelimit:{${keyId}}`)) === 0);
};

test('of 100 parallel requests to two processes exactly 50 pass', async () => {
  const other = connectRedis(store.url, { role: 'worker', logger });
  await other.connect();
  expect(await burst(randomUUID(), 100, createProcess(redis), createProcess(other))).toBe(50);
  other.disconnect();
});

test('every answer tells the limit, what remains and when the window ends; the 51st when to come again, and is counted', async () => {
  const keyId = randomUUID();
  expect(await ask(keyId)).toEqual({
    status: 200,
    limit: 50,
    remaining: 49,
    resetSeconds: 15,
    retryAfterSeconds: Number.NaN,
  });
  await burst(keyId, 48);
  expect(await ask(keyId)).toMatchObject({ status: 200, remaining: 0 });
  const counts = createQueryCounts();
  const refused = await ask(keyId, createProcess(redis, counts));
  expect(counts).toMatchObject({ rateLimited: 1, rateLimitSkipped: 0 });
  expect(refused).toMatchObject({ status: 429, limit: 50, remaining: 0 });
  expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(1);
  expect(refused.retryAfterSeconds).toBeLessThanOrEqual(15);
});

test('the window is that of its first request: neither later nor refused ones prolong it', async () => {
  const keyId = randomUUID();
  await ask(keyId);
  const endsAtMs = await redis.pexpiretime(`ratelimit:{${keyId}}`);
  await burst(keyId, 80);
  expect(await redis.pexpiretime(`ratelimit:{${keyId}}`)).toBe(endsAtMs);
});

test('when the window ends 50 pass again, however many were refused', async () => {
  const keyId = randomUUID();
  expect(await burst(keyId, 200)).toBe(50);
  await endWindow(keyId);
  expect(await burst(keyId, 51)).toBe(50);
});

test('keys are counted apart, sessions not at all', async () => {
  expect(await burst(randomUUID(), 50)).toBe(50);
  expect(await burst(randomUUID(), 50)).toBe(50);
  expect(await burst('', 60)).toBe(60);
  expect((await ask('')).limit).toBeNaN();
});

test('without Redis requests are served, uncounted by the limit and counted as such', async () => {
  const nowhere = new Redis('redis://127.0.0.1:1', {
    lazyConnect: true,
    enableOfflineQueue: false,
    retryStrategy: null,
  });
  nowhere.on('error', () => {});
  const counts = createQueryCounts();
  expect(await burst(randomUUID(), 60, createProcess(nowhere, counts))).toBe(60);
  expect(counts).toMatchObject({ rateLimited: 0, rateLimitSkipped: 60 });
  nowhere.disconnect();
});
