import type { DeadLetters } from '@meridian/queue/dead-letters';
import type { FailedJobs } from '@meridian/queue/failed-jobs';
import { type Finding, ok, warn } from './finding.ts';

/** Whether there are events that could not be stored. */
export async function checkDeadLetters(letters: Pick<DeadLetters, 'count'>): Promise<Finding> {
  const count = await letters.count();
  if (count === 0) return ok('none');
  return warn(
    `${count}`,
    'See: meridian dead-letters list. When the cause is gone: meridian dead-letters replay --all',
  );
}

/** Whether there are background jobs that were given up: then what a deletion or a reset removes is still there. */
export async function checkFailedJobs(jobs: Pick<FailedJobs, 'count'>): Promise<Finding> {
  const count = await jobs.count();
  if (count === 0) return ok('none');
  return warn(`${count}`, 'See: meridian failed-jobs list. When the cause is gone: meridian failed-jobs retry --all');
}
