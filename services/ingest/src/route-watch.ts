import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { ErrorCode } from '@meridian/contract/errors';
import type { Logger } from '@meridian/runtime/logger';
import { type RecordedSpan, recordSpan } from '@meridian/runtime/tracing';
import type { CollectCounts, CountedRoute } from './collect-counts.ts';

type AnsweredExchange = { requestId: string; startedAt: number; request: Pick<IncomingMessage, 'headers'> };

/** Hears what becomes of the requests of one route. */
export type RouteWatch = {
  refused(code: ErrorCode): void;
  /** `startedAt` of the exchange, and `now`: on the clock of `performance.now`. */
  answered(exchange: AnsweredExchange, status: number, now: number): void;
};

/**
 * Counts requests, and logs the share `sampleRate` of them. Failures are not logged one by one: in an outage every one
 * of thousands per second would say the same (see outage-log.ts).
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
    answered({ requestId, startedAt, request }, status, now) {
      const durationMs = now - startedAt;
      seconds[status < 300 ? '2xx' : status < 500 ? '4xx' : '5xx'].observe(durationMs / 1_000);
      recordSpan(startedAt, () => spanOf(route, status, request.headers));
      if (sampleRate === 0 || Math.random() >= sampleRate) return;
      logger.info({ requestId, route, status, durationMs: Math.round(durationMs) }, 'request');
    },
  };
}

function spanOf(route: CountedRoute, status: number, headers: IncomingHttpHeaders): RecordedSpan {
  const method = route === 'preflight' ? 'OPTIONS' : 'POST';
  return {
    name: route === 'preflight' ? method : `${method} /api/${route}`,
    kind: 'server',
    attributes: { 'http.request.method': method, 'http.response.status_code': status },
    headers: () => headers,
    failed: status >= 500 ? String(status) : undefined,
  };
}
