import { createHash } from 'node:crypto';
import { ApiError } from '@meridian/runtime/http/api-error';
import type { Redis } from 'ioredis';

const triesMax = 10;
const windowMs = 15 * 60_000;

/**
 * Counts one try, unless all are used up. The first try opens the window, the last one begins the wait. Counting before
 * the password is looked at bounds guesses sent in parallel too. Returns the ms to wait; 0 = go on.
 */
const takeScript = `
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used >= tonumber(ARGV[1]) then return redis.call('PTTL', KEYS[1]) end
used = redis.call('INCR', KEYS[1])
if used == 1 or used == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`;

export type LoginThrottle = {
  /**
   * Counts a try to prove a password.
   * @throws ApiError 429 after 10 failures in 15 minutes, for 15 minutes; 503 when tries cannot be counted
   */
  take(username: string, address: string): Promise<void>;
  /** The password was right: earlier failures no longer count. */
  forget(username: string, address: string): Promise<void>;
};

/** Failed logins per user name and client address (docs/semantics.md "Logins"), counted in Redis for all processes. */
export function createLoginThrottle(redis: Redis): LoginThrottle {
  return {
    async take(username, address) {
      const waitMs = await redis.eval(takeScript, 1, keyOf(username, address), triesMax, windowMs).catch((cause) => {
        throw new ApiError('service-unavailable', 'Passwords cannot be checked at the moment.', { cause });
      });
      if (typeof waitMs !== 'number' || waitMs <= 0) return;
      const headers = { 'retry-after': String(Math.ceil(waitMs / 1000)) };
      throw new ApiError('rate-limited', 'Too many failed logins. Try again later.', { headers });
    },
    async forget(username, address) {
      await redis.del(keyOf(username, address));
    },
  };
}

/** Neither the name nor the address is kept. */
function keyOf(username: string, address: string): string {
  const name = username.normalize('NFC').toLowerCase();
  const hash = createHash('sha256')
    .update(JSON.stringify([name, address]))
    .digest('base64url');
  return `login-tries:{${hash}}`;
}
