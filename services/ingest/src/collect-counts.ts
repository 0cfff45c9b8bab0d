import { type ErrorCode, errorStatus } from '@meridian/contract/errors';
import type { Waiting } from '@meridian/queue/forward-spool';
import { type LogOverflow, overflowReasons } from '@meridian/queue/log-level';
import {
  type Buckets,
  counter,
  counters,
  createBuckets,
  durationBounds,
  gauge,
  histogram,
  type Metric,
} from '@meridian/runtime/metrics';
import { type CollectOutcome, type IgnoreReason, ignoreReasons } from './collect.ts';

export const countedRoutes = ['send', 'batch', 'preflight'] as const;
export type CountedRoute = (typeof countedRoutes)[number];

export const statusClasses = ['2xx', '4xx', '5xx'] as const;

/** What a collector counts and knows of itself. Plain numbers, because some of it is counted for every event. */
export type CollectCounts = {
  /** Events that are in the log. */
  accepted: number;
  /** Events that another region has taken. */
  handedOn: number;
  /** What waits for each of the other regions. */
  spooled: () => Promise<Waiting[]>;
  /** How much may wait for each; null without a spool. */
  spoolMaxBytes: number | null;
  ignored: Record<IgnoreReason, number>;
  rejected: Record<ErrorCode, number>;
  /** Requests whose answer is an error, without those of `peerClaimsRefused`. */
  refused: Record<ErrorCode, number>;
  /** Requests that said that another region hands them on, and could not show it. */
  peerClaimsRefused: number;
  /** Requests whose events did not come into the log. */
  appendsFailed: number;
  /** Why it takes no events now. */
  overflow: LogOverflow;
  appendSeconds: Buckets;
  requestSeconds: Record<CountedRoute, Record<(typeof statusClasses)[number], Buckets>>;
};

export function createCollectCounts(): CollectCounts {
  const errorCodes = Object.keys(errorStatus) as ErrorCode[];
  const buckets = () => createBuckets(durationBounds);
  return {
    accepted: 0,
    handedOn: 0,
    spooled: async () => [],
    spoolMaxBytes: null,
    ignored: each(ignoreReasons, () => 0),
    rejected: each(errorCodes, () => 0),
    refused: each(errorCodes, () => 0),
    peerClaimsRefused: 0,
    appendsFailed: 0,
    overflow: () => null,
    appendSeconds: buckets(),
    requestSeconds: each(countedRoutes, () => each(statusClasses, buckets)),
  };
}

/** Counts what was decided about one event; whether an accepted one came into the log is not decided yet. */
export function countDecision(counts: CollectCounts, outcome: CollectOutcome): void {
  if (outcome.kind === 'ignored') counts.ignored[outcome.reason]++;
  else if (outcome.kind === 'rejected') counts.rejected[outcome.code]++;
  else if (outcome.kind === 'taken' && !outcome.isKept) counts.handedOn++;
}

/** `now`: Unix ms. */
export function collectMetrics(counts: CollectCounts, now: () => number = Date.now): Metric[] {
  let asked: Promise<Waiting[]> | null = null;
  /** Asked once for the metrics that are read together. */
  const waitingNow = () => {
    asked ??= counts.spooled().finally(() => {
      asked = null;
    });
    return asked;
  };
  const spoolGauge = (what: string, help: string, of: (waiting: Waiting[]) => number) =>
    gauge(`meridian_forward_spool_${what}`, help, async () => [{ value: of(await waitingNow()) }]);
  return [
    counter('meridian_events_accepted_total', 'Events that are in the event log.', () => counts.accepted),
    counter('meridian_events_handed_on_total', 'Events that another region has taken.', () => counts.handedOn),
    spoolGauge('requests', 'Requests that wait for another region.', (waiting) => {
      return waiting.reduce((sum, { requests }) => sum + requests, 0);
    }),
    spoolGauge('bytes', 'Of those that wait for the region for which the most wait.', (waiting) => {
      return Math.max(0, ...waiting.map(({ bytes }) => bytes));
    }),
    spoolGauge('age_seconds', 'For how long the first in the line waits.', (waiting) => {
      const nowMs = now();
      return Math.max(0, ...waiting.map(({ sinceMs }) => (nowMs - (sinceMs ?? nowMs)) / 1_000));
    }),
    gauge('meridian_forward_spool_limit_bytes', 'What may wait for one region; absent without a spool.', async () =>
      counts.spoolMaxBytes === null ? [] : [{ value: counts.spoolMaxBytes }],
    ),
    counters('meridian_events_ignored_total', 'Events left out on purpose.', 'reason', counts.ignored),
    counters('meridian_events_rejected_total', 'Events refused one by one.', 'code', counts.rejected),
    counters('meridian_collect_requests_refused_total', 'Requests answered with an error.', 'code', counts.refused),
    counter('meridian_collect_peer_claims_refused_total', 'Requests that another region was said to hand on.', () => {
      return counts.peerClaimsRefused;
    }),
    counter('meridian_event_log_appends_failed_total', 'Requests whose events the log did not take.', () => {
      return counts.appendsFailed;
    }),
    gauge('meridian_event_log_overflow', '1: the reason for which no events are taken now.', async () =>
      overflowReasons.map((reason) => ({ value: counts.overflow() === reason ? 1 : 0, labels: { reason } })),
    ),
    histogram('meridian_event_log_append_duration_seconds', 'From decision to confirmation by the log.', () => [
      [{}, counts.appendSeconds],
    ]),
    histogram('meridian_collect_request_duration_seconds', 'From a request’s head to its answer.', () =>
      countedRoutes.flatMap((route) =>
        statusClasses.map((status) => [{ route, status }, counts.requestSeconds[route][status]] as const),
      ),
    ),
  ];
}

function each<Key extends string, Value>(keys: readonly Key[], make: () => Value): Record<Key, Value> {
  return Object.fromEntries(keys.map((key) => [key, make()])) as Record<Key, Value>;
}
