import type { ErrorCode } from '@meridian/contract/errors';
import type { Logger } from '@meridian/runtime/logger';
import type { CollectCounts, CountedRoute } from './collect-counts.ts';

/** Hears what becomes of the requests of one route. */
export type RouteWatch = {
  refused(code: ErrorCode): void;
  /** `startedAt` of the request, and `now`: on the clock of `performance.now`. */
  answered(request: { requestId: string; startedAt: number }, status: number, now: number): void;
};

/**
 * Counts requests, and logs the share `sampleRate` of them. Failures are not logged one by one: in an outage every one of thousands
 * per second would say the same (see outage-log.ts).
 */
export function createRouteWatch(deps: {
  route: CountedRoute;
  counts: CollectCounts;
  logger: Pick<Logger, 'info'>;
  sampleRate: number;
}): RouteWatch {
  const { route, counts, logger, sampleRate } = deps;
  const seconds = counts.requestSeconds[route];
  return {
    refused(code) {
      counts.refused[code]++;
    },
    answered({ requestId, startedAt }, status, now) {
      const durationMs = now - startedAt;
      seconds[status < 300 ? '2xx' : status < 500 ? '4xx' : '5xx'].observe(durationMs / 1_000);
      if (sampleRate === 0 || Math.random() >= sampleRate) return;
      logger.info({ requestId, route, status, durationMs: Math.round(durationMs) }, 'request');
    },
  };
}
