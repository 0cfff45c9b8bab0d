import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';

const pauseMs = 250;

const takeScript = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const giveBackScript = `return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0`;

/** Takes the lease when nobody has it, and prolongs one's own. */
export async function takeLease(redis: Redis, key: string, owner: string, ms: number): Promise<boolean> {
  return (await redis.eval(takeScript, 1, key, owner, ms)) === 1;
}

/**
 * Does the work while nobody else has the lease, which is waited for. The work's signal ends it also when the lease was
 * lost, such as where Redis could not be reached for as long as it is given.
 */
export async function withLease(
  redis: Redis,
  { key, ms, signal }: { key: string; ms: number; signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const owner = randomUUID();
  const take = () => takeLease(redis, key, owner, ms);
  while (!(await take())) await delay(pauseMs, undefined, { signal });
  const lost = new AbortController();
  const renewal = setInterval(() => {
    take()
      .then((isOurs) => isOurs || lost.abort(new Error('Another process has taken over')))
      .catch(() => {}); // Redis is away: the next one tells
  }, ms / 3);
  try {
    await work(AbortSignal.any([signal, lost.signal]));
  } finally {
    clearInterval(renewal);
    await redis.eval(giveBackScript, 1, key, owner);
  }
}
