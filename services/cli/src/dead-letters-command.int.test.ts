import { createDeadLetters } from '@meridian/queue/dead-letters';
import { connectProducer, type OwnRedis, patience, startOwnRedis } from '@meridian/queue/test-redis';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runDeadLetters } from './dead-letters-command.ts';

let server: OwnRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startOwnRedis();
  redis = await connectProducer(server.url, patience.commandTimeout);
});
afterAll(async () => {
  redis.disconnect();
  await server.remove();
});

test('all are replayed but the one that fails, which is told and stays; the summary counts both', async () => {
  const entry = JSON.stringify(['v', '3', 'n', '1'].map((text) => Buffer.from(text).toString('base64')));
  const letterIn = (p: number) => redis.xadd(`dead-letters:{${p}}`, '*', 'time', '', 'reason', 'odd', 'entry', entry);
  const ids = [await letterIn(0), await letterIn(0), await letterIn(1)];
  await redis.set('backfill-events:{0}', 'no stream');
  await redis.hset('event-counts', { accepted: 3, 'dead-lettered': 3 });

  const letters = createDeadLetters({ redis, partitions: 2 });
  const lines: string[] = [];
  expect(await runDeadLetters(letters, ['replay', '--all'], (line) => lines.push(line))).toBe(1);
  expect(lines).toEqual([
    expect.stringMatching(`^0:${ids[0]} not replayed: .*WRONGTYPE`),
    expect.stringMatching(`^0:${ids[1]} not replayed: .*WRONGTYPE`),
    '1 replayed, 2 not',
  ]);
  expect(await redis.xlen('backfill-events:{1}')).toBe(1);
  expect(await letters.count()).toBe(2);
});
