import type { Logger } from '@meridian/runtime/logger';

const silenceMs = 10_000;

/**
 * Reports that something cannot be done: the first time at once, then at most every 10 s with the number of failures,
 * because in an outage every one of thousands per second would say the same.
 */
export function createOutageLog(
  logger: Logger,
  message: string,
  now: () => number = Date.now,
): (error: unknown) => void {
  let silentUntilMs = 0;
  let failures = 0;
  return (error) => {
    failures++;
    const nowMs = now();
    if (nowMs < silentUntilMs) return;
    logger.warn({ err: error, failures }, message);
    silentUntilMs = nowMs + silenceMs;
    failures = 0;
  };
}
