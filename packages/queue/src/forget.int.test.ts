import { randomUUID } from 'node:crypto';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEventLog } from './event-log.ts';
import { forgetIdempotencyRecords } from './idempotency-records.ts';
import { pendingEvent } from './test-events.ts';
import { connectProducer, patience } from './test-redis.ts';
import { forgetVisits } from './visit-state.ts';

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
