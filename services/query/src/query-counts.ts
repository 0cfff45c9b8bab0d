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
import { type WarehouseErrorKind, warehouseErrorKinds } from '@meridian/warehouse/warehouse-error';

/** `route`: as it is registered, such as `/api/websites/:websiteId/stats`, never a path. */
type RequestLabels = { method: string; route: string; status: string };

export type QueryCounts = {
  request(labels: RequestLabels, seconds: number): void;
  /** One query of ClickHouse. */
  question(seconds: number, outcome: 'ok' | WarehouseErrorKind): void;
  /** Questions that wait for their turn now. */
  questionsWaiting: number;
  /** Questions that were not asked: `waited` too long for their turn, or `too_many` of the caller waited already. */
  questionsRefused: Record<'waited' | 'too_many', number>;
  /** Requests that were refused because their key had used its window up. */
  rateLimited: number;
  /** Requests that were served without being counted, because the counter was away. */
  rateLimitSkipped: number;
  /** Requests that were counted here, because the home region of their key was away. */
  rateLimitAway: number;
  /** Requests that said that another region hands them on, and could not show it. */
  peerClaimsRefused: number;
  metrics(): Metric[];
};

/** What a query process counts. */
export function createQueryCounts(): QueryCounts {
  const requests = new Map<string, [RequestLabels, Buckets]>();
  const questions = (['ok', ...warehouseErrorKinds] as const).map((outcome) => [outcome, newBuckets()] as const);
  const bucketsOf = new Map<string, Buckets>(questions);
  const counts: QueryCounts = {
    request(labels, seconds) {
      const key = `${labels.method} ${labels.route} ${labels.status}`;
      const [, buckets] = requests.get(key) ?? [];
      if (buckets) return buckets.observe(seconds);
      const first = newBuckets();
      first.observe(seconds);
      requests.set(key, [labels, first]);
    },
    question: (seconds, outcome) => bucketsOf.get(outcome)?.observe(seconds),
    questionsWaiting: 0,
    questionsRefused: { waited: 0, too_many: 0 },
    rateLimited: 0,
    rateLimitSkipped: 0,
    rateLimitAway: 0,
    peerClaimsRefused: 0,
    metrics: () => [
      histogram('meridian_query_request_duration_seconds', 'From a request’s head to its answer.', () =>
        requests.values(),
      ),
      histogram('meridian_clickhouse_query_duration_seconds', 'Queries of ClickHouse for statistics.', () =>
        questions.map(([outcome, buckets]) => [{ outcome }, buckets] as const),
      ),
      gauge('meridian_questions_waiting', 'Questions that wait for their turn.', async () => [
        { value: counts.questionsWaiting },
      ]),
      counters(
        'meridian_questions_refused_total',
        'Questions that were not asked, because others took the turns.',
        'reason',
        counts.questionsRefused,
      ),
      counter('meridian_rate_limited_total', 'Requests refused because a key sent too many.', () => counts.rateLimited),
      counter('meridian_rate_limit_skipped_total', 'Requests served uncounted, because Redis was away.', () => {
        return counts.rateLimitSkipped;
      }),
      counter('meridian_rate_limit_away_total', 'Requests counted here, because the home region was away.', () => {
        return counts.rateLimitAway;
      }),
      counter('meridian_peer_claims_refused_total', 'Requests that another region was said to hand on.', () => {
        return counts.peerClaimsRefused;
      }),
    ],
  };
  return counts;
}

const newBuckets = (): Buckets => createBuckets(durationBounds);
