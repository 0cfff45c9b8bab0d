import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

export type RedisScript = (
  keys: readonly (string | Buffer)[],
  args: readonly (string | number | Buffer)[],
) => Promise<unknown>;

/**
 * A Lua script, sent as its hash; its text only when Redis does not know it (nothing was executed then). Texts in
 * answers are Buffers.
 */
export function createRedisScript(redis: Redis, lua: string): RedisScript {
  const hash = createHash('sha1').update(lua).digest('hex');
  return async (keys, args) => {
    // As one array: a function takes only some hundred thousand arguments.
    const input = [keys.length, ...keys, ...args];
    try {
      return await redis.callBuffer('EVALSHA', [hash, ...input]);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return await redis.callBuffer('EVAL', [lua, ...input]);
    }
  };
}

/**
 * Whether Redis refuses for a reason that passes: it is full, loading, without disk or replicas, or no longer the
 * primary.
 */
export function isPassingRedisError(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(OOM|LOADING|MISCONF|NOREPLICAS|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY) /.test(error.message)
  );
}
