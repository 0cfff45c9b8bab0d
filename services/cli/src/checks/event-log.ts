import { setTimeout as delay } from 'node:timers/promises';
import type { DeadLetters } from '@meridian/queue/dead-letters';
import { countQueued, type EventCounts, readEventCounts, unaccountedEvents } from '@meridian/queue/event-counts';
import { logLagMs } from '@meridian/queue/log-level';
import { findStrayPartitions } from '@meridian/queue/stray-partitions';
import type { Redis } from 'ioredis';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Workers that keep up let no event wait for so long. */
export const lateMs = 60_000;
const stuckMs = 900_000;
const looksMax = 3;
const lookPauseMs = 1_000;

export const tellLag = (lagMs: number): string => `the oldest event waits for ${Math.round(lagMs / 1_000)} s`;

/** Whether the workers keep up. */
export async function checkLogAge(redis: Redis, partitions: number): Promise<Finding> {
  const ageMs = await logLagMs(redis, partitions, ['live']);
  const backfillMs = await logLagMs(redis, partitions, ['backfill']);
  const backfill = backfillMs > 0 ? `, of those of more than 30 days ago for ${Math.round(backfillMs / 1_000)} s` : '';
  const detail = tellLag(ageMs) + backfill;
  const advice = 'See whether workers run and what they log; add workers if they do.';
  if (ageMs > stuckMs) return fail(detail, advice);
  if (ageMs > lateMs) return warn(detail, advice);
  return backfillMs > stuckMs ? warn(detail, 'See docs/runbooks/log-lag.md.') : ok(detail);
}

/** Whether entries lie where no worker reads. */
export async function checkPartitions(redis: Redis, partitions: number): Promise<Finding> {
  const strays = await findStrayPartitions(redis, partitions);
  if (strays.length === 0) return ok(`${partitions}, none beyond`);
  return fail(
    `${partitions}, but there are events in partition ${strays.join(', ')}`,
    `Give all services, and this command, EVENT_LOG_PARTITIONS=${Math.max(...strays) + 1} at least.`,
  );
}

/**
 * Whether every accepted event is somewhere, and the log and the dead letters hold what the counts say. Looks again
 * before it says that they do not: an event that leaves its place and comes back while it is counted, as one that is
 * replayed in vain, does not show in the counts.
 */
export async function checkAccounting(
  redis: Redis,
  partitions: number,
  letters: Pick<DeadLetters, 'pages'>,
): Promise<Finding> {
  for (let look = 1; ; look++) {
    const finding = await lookAtAccounting(redis, partitions, letters);
    if (finding.status !== 'FAIL' || look === looksMax) return finding;
    await delay(lookPauseMs);
  }
}

async function lookAtAccounting(
  redis: Redis,
  partitions: number,
  letters: Pick<DeadLetters, 'pages'>,
): Promise<Finding> {
  const before = await readEventCounts(redis);
  const found = { queued: await countQueued(redis, partitions), deadLettered: await countDeadLettered(letters) };
  return judgeAccounting(before, found, await readEventCounts(redis));
}

async function countDeadLettered(letters: Pick<DeadLetters, 'pages'>): Promise<number> {
  let events = 0;
  for await (const page of letters.pages()) for (const { eventCount } of page) events += eventCount;
  return events;
}

/**
 * `found`: counted one by one between the two readings of the counts. Meanwhile events may have come and gone, so that
 * it is right when it can be explained by that.
 */
export function judgeAccounting(
  before: EventCounts,
  found: { queued: number; deadLettered: number },
  after: EventCounts,
): Finding {
  const advice = 'Report it, with this line and the logs of the workers.';
  const unaccounted = unaccountedEvents(after);
  if (unaccounted !== 0) return fail(`${unaccounted} of ${after.accepted} accepted events are unaccounted for`, advice);

  const newLetters = after.deadLettered - before.deadLettered;
  const came = after.accepted - before.accepted + Math.max(0, -newLetters);
  const went = after.stored - before.stored + after.removed - before.removed + Math.max(0, newLetters);
  if (found.queued < before.queued - went || found.queued > before.queued + came)
    return fail(`the log holds ${found.queued} events, the counts say ${after.queued}`, advice);
  const [fewest, most] = [before.deadLettered, after.deadLettered].sort((a, b) => a - b);
  if (found.deadLettered < (fewest ?? 0) || found.deadLettered > (most ?? 0))
    return fail(`the dead letters hold ${found.deadLettered} events, the counts say ${after.deadLettered}`, advice);

  const { accepted, stored, deadLettered, removed, dropped, queued } = after;
  return ok(
    `${accepted} accepted = ${stored} stored + ${deadLettered} dead-lettered + ${removed} removed + ${dropped} dropped + ${queued} queued`,
  );
}
