import type { Redis } from 'ioredis';
import { idempotencyKeyPattern, websiteOfIdempotencyKey } from './log-keys.ts';

const keysPerScan = 1_000;

/** Forgets the answers to idempotent requests for the website. Walks over all keys, some at a time: for a job. May be repeated. */
export async function forgetIdempotencyRecords(redis: Redis, websiteId: string): Promise<void> {
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', idempotencyKeyPattern(websiteId), 'COUNT', keysPerScan);
    const own = keys.filter((key) => websiteOfIdempotencyKey(key) === websiteId);
    if (own.length > 0) await redis.unlink(...own);
    cursor = next;
  } while (cursor !== '0');
}
