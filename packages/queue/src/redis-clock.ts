import type { Redis } from 'ioredis';

const windowMs = 5_000;

/**
 * Redis's clock as seen from here, never too late: `at` gives the latest time that Redis's clock can be trusted to show
 * at a moment of ours. A request that carries such a time as its deadline is surely refused after that moment, though
 * the two machines' clocks differ by minutes. Moments of ours are milliseconds of `performance.now()`, which no clock
 * step moves.
 */
export type RedisClock = ReturnType<typeof createRedisClock>;

export function createRedisClock(redis: Redis) {
  // A reading, Redis's time minus ours of receipt, is too low by the time the answer travelled, so the greatest recent
  // one is closest.
  let best = Number.NEGATIVE_INFINITY;
  let bestBefore = Number.NEGATIVE_INFINITY;
  let windowStartedAt = Number.NEGATIVE_INFINITY;

  function observe(seconds: number, microseconds: number): void {
    const receivedAt = performance.now();
    const reading = seconds * 1_000 + microseconds / 1_000 - receivedAt;
    if (receivedAt - windowStartedAt > windowMs) {
      bestBefore = receivedAt - windowStartedAt > 2 * windowMs ? Number.NEGATIVE_INFINITY : best;
      best = reading;
      windowStartedAt = receivedAt;
    } else {
      best = Math.max(best, reading);
    }
  }

  return {
    /** Takes in what Redis's clock showed in an answer that has just arrived. */
    observe,
    /**
     * Milliseconds since 1970 on Redis's clock at a moment of `performance.now()`; asks Redis when the last answer is
     * old.
     */
    async at(moment: number): Promise<number> {
      if (performance.now() - windowStartedAt > 2 * windowMs) {
        const [seconds, microseconds] = await redis.time();
        observe(Number(seconds), Number(microseconds));
      }
      return moment + Math.max(best, bestBefore);
    },
  };
}
