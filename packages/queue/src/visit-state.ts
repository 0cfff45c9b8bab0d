import type { Redis } from 'ioredis';
import { keptVisit } from './append-script.ts';
import { partitionOf } from './log-keys.ts';
import { createRedisScript } from './redis-script.ts';
import { writeUuid } from './uuid-bytes.ts';

const keysPerCall = 1_000;

/** A session of a website. */
export type SessionOf = { websiteId: string; sessionId: string };

/**
 * KEYS: visits of sessions, as append-script.ts keeps them; ARGV: Unix ms. Forgets those of them that were touched last
 * before that.
 */
const forgetUntouchedScript = `#!lua flags=allow-oom
local call, size = redis.call, ${keptVisit.bytes}
for _, key in ipairs(KEYS) do
  local visits, kept = call('GET', key) or '', {}
  for at = 1, #visits, size do
    if struct.unpack('>d', visits, at + ${keptVisit.touchedAt}) >= tonumber(ARGV[1]) then kept[#kept + 1] = string.sub(visits, at, at + size - 1) end
  end
  if #kept == 0 then
    call('UNLINK', key)
  elseif #kept * size < #visits then
    call('SET', key, table.concat(kept), 'KEEPTTL')
  end
end
`;

/**
 * Forgets the running visits of the sessions, whose events are not stored or are stored no longer: they would be
 * remembered for an hour else. With `before` only those to which no event came since then. May be repeated.
 */
export async function forgetVisits(
  redis: Redis,
  partitions: number,
  sessions: readonly SessionOf[],
  before?: Date,
): Promise<void> {
  const keys = sessions.map((session) => visitsKey(session, partitions));
  const forgetUntouched = createRedisScript(redis, forgetUntouchedScript);
  for (let from = 0; from < keys.length; from += keysPerCall) {
    const some = keys.slice(from, from + keysPerCall);
    if (before) await forgetUntouched(some, [before.getTime()]);
    else await redis.unlink(...some);
  }
}

/** Where append-script.ts keeps the visits of a session. */
export function visitsKey({ websiteId, sessionId }: SessionOf, partitions: number): Buffer {
  const session = Buffer.alloc(16);
  writeUuid(session, 0, sessionId);
  return Buffer.concat([Buffer.from(`visits:{${partitionOf(websiteId, partitions)}}:`), session]);
}
