import { Redis } from 'ioredis';
import { afterAll, expect, test, vi } from 'vitest';
import { createQueryApp } from '../create-query-app.ts';
import { createQueryCounts } from '../query-counts.ts';
import { createTwoProcesses } from '../two-processes-fixtures.ts';

const { api, other, close } = await createTwoProcesses();
afterAll(close);

const newKey = async () => {
  const { token } = await api.newAccount();
  return api.ok('POST', '/me/api-keys', { token, body: { name: 'ci' } });
};

/** Requests at once, in turn by both processes, with the key in either header, to answers of every kind. */
async function burst(key: string, count: number) {
  const targets = [
    ['GET', '/me', 200],
    ['GET', '/websites', 200],
    ['GET', '/websites/unknown/stats', 404],
    ['POST', '/websites', 400],
    ['GET', '/no/such/route', 404],
  ] as const;
  const answers = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const [method, path, expected] = targets[i % targets.length] ?? targets[0];
      const headers = i % 3 ? { 'x-umami-api-key': key } : { authorization: `Bearer ${key}` };
      const answer = await (i % 2 ? api : other).call(method, path, {
        headers,
        ...(method === 'POST' && { body: {} }),
      });
      return { ...answer, passed: answer.status === expected };
    }),
  );
  return { answers, passed: answers.filter(({ passed }) => passed).length };
}

const number = (headers: Headers, name: string) => Number(headers.get(name) ?? Number.NaN);

test('of 120 requests at once to two processes exactly 50 pass; every answer, also an error, tells the limit; refused ones are not counted', async () => {
  const { key, id } = await newKey();
  const { redis } = api.deps;
  const first = await other.call('GET', '/me', { token: key });
  expect([first.status, number(first.headers, 'ratelimit-remaining')]).toEqual([200, 49]);
  // However slow the machine is, the window is that of the first request.
  await redis.pexpire(`ratelimit:{${id}}`, 600_000);

  const { answers, passed } = await burst(key, 119);
  expect(passed).toBe(49);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(70);
  for (const { headers, status } of answers) {
    expect(number(headers, 'ratelimit-limit')).toBe(50);
    expect(number(headers, 'ratelimit-reset')).toBeGreaterThanOrEqual(1);
    expect(headers.has('retry-after')).toBe(status === 429);
  }
  const remaining = answers.flatMap((one) => (one.passed ? number(one.headers, 'ratelimit-remaining') : []));
  expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: 49 }, (_, i) => i));
  for (const { headers, json } of refused) {
    expect(headers.get('retry-after')).toBe(headers.get('ratelimit-reset'));
    expect([number(headers, 'ratelimit-remaining'), json.error.code]).toEqual([0, 'rate-limited']);
  }
  expect(await redis.get(`ratelimit:{${id}}`)).toBe('50');

  // The window ends now, as Redis's clock would end it.
  await redis.pexpire(`ratelimit:{${id}}`, 1);
  await vi.waitUntil(async () => (await redis.exists(`ratelimit:{${id}}`)) === 0);
  const next = await api.call('GET', '/me', { token: key });
  expect([next.status, number(next.headers, 'ratelimit-remaining')]).toEqual([200, 49]);
});

test('without Redis a key is served, beyond its limit as well, and each request is counted as not limited', async () => {
  const { key } = await newKey();
  const nowhere = new Redis('redis://127.0.0.1:1', {
    lazyConnect: true,
    enableOfflineQueue: false,
    retryStrategy: null,
  });
  nowhere.on('error', () => {});
  const counts = createQueryCounts();
  const app = createQueryApp({ ...api.deps, redis: nowhere, counts });
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => app.request('/api/me', { headers: { authorization: `Bearer ${key}` } })),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(60).fill(200));
  expect(counts).toMatchObject({ rateLimited: 0, rateLimitSkipped: 60 });
  nowhere.disconnect();
});
