import type { Redis } from 'ioredis';

/** Redis's clock. */
export async function readRedisClock(redis: Redis): Promise<Date> {
  const [seconds, microseconds] = await redis.time();
  return new Date(Number(seconds) * 1_000 + Number(microseconds) / 1_000);
}
