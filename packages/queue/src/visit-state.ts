import type { Redis } from 'ioredis';
import { partitionOf } from './log-keys.ts';
import { writeUuid } from './uuid-bytes.ts';

const keysPerCall = 1_000;

/** A session of a website. */
export type SessionOf = { websiteId: string; sessionId: string };

/**
 * Forgets the running visits of the sessions, whose events are not stored or are stored no longer: they would be remembered for an hour else.
 * May be repeated.
 */
export async function forgetVisits(redis: Redis, partitions: number, sessions: readonly SessionOf[]): Promise<void> {
  const keys = sessions.map((session) => visitsKey(session, partitions));
  for (let from = 0; from < keys.length; from += keysPerCall)
    await redis.unlink(...keys.slice(from, from + keysPerCall));
}

/** Where append-script.ts keeps the visits of a session. */
export function visitsKey({ websiteId, sessionId }: SessionOf, partitions: number): Buffer {
  const session = Buffer.alloc(16);
  writeUuid(session, 0, sessionId);
  return Buffer.concat([Buffer.from(`visits:{${partitionOf(websiteId, partitions)}}:`), session]);
}
