import type { Logger } from '@meridian/runtime/logger';

const silenceMs = 10_000;

/**
 * Reports that events could not be taken: the first time at once, then at most every 10 s with the number of requests, because
 * in an outage every request of thousands per second would say the same.
 */
export function createOutageLog(logger: Logger, now: () => number = Date.now): (error: unknown) => void {
  let silentUntilMs = 0;
  let requests = 0;
  return (error) => {
    requests++;
    const nowMs = now();
    if (nowMs < silentUntilMs) return;
    logger.warn({ err: error, requests }, 'events were not taken');
    silentUntilMs = nowMs + silenceMs;
    requests = 0;
  };
}
