import { randomUUID } from 'node:crypto';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEventLog } from './event-log.ts';
import { forgetIdempotencyRecords } from './idempotency-records.ts';
import { pendingEvent } from './test-events.ts';
import { connectProducer, patience } from './test-redis.ts';
import { forgetVisits, type SessionOf, visitsKey } from './visit-state.ts';

const partitions = 3;
let database: Awaited<ReturnType<typeof createRedisDatabase>>;
let redis: Redis;

beforeAll(async () => {
  database = await createRedisDatabase();
  redis = await connectProducer(database.url, patience.commandTimeout);
});
afterAll(async () => {
  redis.disconnect();
  await database.drop();
});

test('what is forgotten of a website is all that is kept for its requests, and nothing of another', async () => {
  const log = createEventLog({ redis, partitions, appendMaxWaitMs: patience.appendMaxWaitMs });
  const [website, neighbour] = [randomUUID(), randomUUID()];
  const sessions = Array.from({ length: 1_500 }, () => ({ websiteId: website, sessionId: randomUUID() }));
  const placementsOf = (some: typeof sessions) => some.map((one) => ({ event: pendingEvent(one) }));
  await log.append({ placements: placementsOf(sessions) });
  const others = [{ websiteId: neighbour, sessionId: randomUUID() }];
  const idempotent = (websiteId: string, key: string, some: typeof sessions) =>
    log.append({
      placements: placementsOf(some),
      idempotency: { key: `send:${websiteId}:${key}`, bodyHash: 'h', draft: 'd' },
    });
  await idempotent(website, 'a:b', sessions.slice(0, 1));
  await idempotent(website, 'c', []);
  await idempotent(neighbour, `x:${website}:y`, others);

  await forgetVisits(redis, partitions, sessions);
  await forgetVisits(redis, partitions, []);
  await forgetIdempotencyRecords(redis, website);
  const left = (await redis.keys('*')).filter((key) => /^(visits|idempotency):/.test(key));
  expect(left.filter((key) => key.startsWith('idempotency:'))).toEqual([
    expect.stringContaining(`send:${neighbour}:x`),
  ]);
  expect(left.filter((key) => key.startsWith('visits:'))).toHaveLength(1);
});

test('of a website that was reset visits and records go that were left before, and those stay that were used since', async () => {
  let now = Date.now() - 60_000;
  const log = createEventLog({ redis, partitions, now: () => now, appendMaxWaitMs: patience.appendMaxWaitMs });
  const websiteId = randomUUID();
  const [left, goesOn] = [randomUUID(), randomUUID()].map((sessionId) => ({ websiteId, sessionId }));
  const visit = async (session: object | undefined, createdAtMs: number, key: string) =>
    log.append({
      placements: [{ event: pendingEvent({ ...session, createdAtMs }) }],
      idempotency: { key: `send:${websiteId}:${key}`, bodyHash: 'h', draft: 'd' },
    });
  const visitIdsOf = (appended: Awaited<ReturnType<typeof visit>>) => appended.ok && appended.visitIds;
  await visit(left, now, 'old');
  // Far apart: the second one's session has a visit that nothing touches any more, and one that goes on.
  await visit(goesOn, now - 86_400_000, 'old too');
  const before = await visit(goesOn, now, 'old as well');
  for (const key of await redis.keys(`idempotency:*:send:${websiteId}:*`))
    await redis.pexpire(key, 86_400_000 - 60_000);
  const resetAt = new Date(now + 30_000);
  now += 60_000;
  await visit(goesOn, now, 'new');

  for (let i = 0; i < 2; i++) {
    await forgetVisits(redis, partitions, [left, goesOn] as SessionOf[], resetAt);
    await forgetIdempotencyRecords(redis, websiteId, resetAt);
  }
  const records = await redis.keys(`idempotency:*:send:${websiteId}:*`);
  expect(records).toEqual([expect.stringMatching(/:new$/)]);
  const sizes = [left, goesOn].map((one) => redis.strlen(visitsKey(one as SessionOf, partitions)));
  expect(await Promise.all(sizes)).toEqual([0, 56]);
  expect(await redis.pttl(visitsKey(goesOn as SessionOf, partitions))).toBeGreaterThan(0);
  expect(visitIdsOf(await visit(goesOn, now, 'newer'))).toEqual(visitIdsOf(before));
});
