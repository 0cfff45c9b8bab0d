import type { Logger } from '@meridian/runtime/logger';

const quietMs = 10_000;

/** Logs every failed attempt of a job; trouble with Redis, which comes in floods, at most every ten seconds. */
export function createJobErrorLog(
  logger: Logger,
  now: () => number = () => performance.now(),
): (error: Error, job?: { id: string; name: string }) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return (err, job) => {
    if (job) {
      logger.warn({ err, job }, 'job failed, will be repeated');
      return;
    }
    if (now() < quietUntil) return;
    quietUntil = now() + quietMs;
    logger.warn({ err }, 'job queue is in trouble');
  };
}
