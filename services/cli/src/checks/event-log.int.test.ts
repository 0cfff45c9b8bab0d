import { createDeadLetters } from '@meridian/queue/dead-letters';
import { createEventLog } from '@meridian/queue/event-log';
import { pendingEvent } from '@meridian/queue/test-events';
import { connectProducer, type OwnRedis, patience, startOwnRedis } from '@meridian/queue/test-redis';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkAccounting } from './event-log.ts';

let server: OwnRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startOwnRedis();
  redis = await connectProducer(server.url, patience.commandTimeout);
  const log = createEventLog({ redis, partitions: 1, appendMaxWaitMs: patience.appendMaxWaitMs });
  await log.append({ placements: [{ event: pendingEvent() }] });
});
afterAll(async () => {
  redis.disconnect();
  await server.remove();
});

test('the accounting is right though an event is away from the log for the moment at which the log is counted', async () => {
  const letters = createDeadLetters({ redis, partitions: 1 });
  const [[, kept = []] = []] = await redis.xrange('events:{0}', '-', '+');
  let looks = 0;
  await redis.rename('events:{0}', 'aside');
  const pages = () => {
    looks++;
    // The log was counted; the counts, read next, are those of before.
    void redis.xadd('events:{0}', '*', ...kept);
    return letters.pages();
  };
  expect((await checkAccounting(redis, 1, { pages })).status).toBe('OK');
  expect(looks).toBe(2);
});

test('an event that stays away is told', async () => {
  await redis.del('events:{0}');
  const letters = createDeadLetters({ redis, partitions: 1 });
  expect(await checkAccounting(redis, 1, letters)).toMatchObject({
    status: 'FAIL',
    detail: 'the log holds 0 events, the counts say 1',
  });
});
