import type { Redis } from 'ioredis';
import { answerLifeMs } from './append-script.ts';
import { idempotencyKeyPattern, websiteOfIdempotencyKey } from './log-keys.ts';
import { readRedisClock } from './read-clock.ts';

const keysPerScan = 1_000;

/**
 * Forgets the answers to idempotent requests for the website; with `before` only to those that were answered before
 * then. Walks over all keys, some at a time: for a job. May be repeated.
 */
export async function forgetIdempotencyRecords(redis: Redis, websiteId: string, before?: Date): Promise<void> {
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', idempotencyKeyPattern(websiteId), 'COUNT', keysPerScan);
    const own = keys.filter((key) => websiteOfIdempotencyKey(key) === websiteId);
    const old = before ? await answeredBefore(redis, own, before.getTime()) : own;
    if (old.length > 0) await redis.unlink(...old);
    cursor = next;
  } while (cursor !== '0');
}

/** By Redis's clock, from the life that a record has left. */
async function answeredBefore(redis: Redis, keys: readonly string[], beforeMs: number): Promise<string[]> {
  const now = await readRedisClock(redis);
  const livesLeft = await Promise.all(keys.map((key) => redis.pttl(key)));
  return keys.filter((_, i) => {
    const leftMs = livesLeft[i] ?? 0;
    return leftMs > 0 && now.getTime() - (answerLifeMs - leftMs) < beforeMs;
  });
}
