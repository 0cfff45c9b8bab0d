import {
  type Buckets,
  counter,
  counters,
  createBuckets,
  durationBounds,
  histogram,
  type Metric,
} from '@meridian/runtime/metrics';

const rowBounds = [1, 10, 100, 1_000, 5_000, 10_000, 25_000, 50_000, 100_000];

/** What one worker counts, since it started. */
export type WorkerCounts = {
  /** `lost`: another worker ended the batch. */
  batches: { written: number; lost: number };
  stored: number;
  deadLettered: number;
  /** Not stored, because their website was deleted or reset. */
  removed: number;
  /** Attempts that were repeated because a store was away. */
  retries: number;
  insertRows: Buckets;
  insertSeconds: Buckets;
  /** When a batch of the live lane was last ended, or else the worker began; on the clock of `performance.now`. */
  lastEndedAt: number;
};

export function createWorkerCounts(): WorkerCounts {
  return {
    batches: { written: 0, lost: 0 },
    stored: 0,
    deadLettered: 0,
    removed: 0,
    retries: 0,
    insertRows: createBuckets(rowBounds),
    insertSeconds: createBuckets(durationBounds),
    lastEndedAt: performance.now(),
  };
}

export function workerMetrics(counts: WorkerCounts): Metric[] {
  return [
    counters('meridian_batches_total', 'Batches of the event log, by what became of them.', 'outcome', counts.batches),
    counter('meridian_events_stored_total', 'Events stored.', () => counts.stored),
    counter('meridian_events_dead_lettered_total', 'Events that became dead letters.', () => counts.deadLettered),
    counter('meridian_events_removed_total', 'Events of websites deleted or reset.', () => counts.removed),
    counter('meridian_store_retries_total', 'Attempts repeated because a store was away.', () => counts.retries),
    histogram('meridian_insert_rows', 'Rows of an insert of events.', () => [[{}, counts.insertRows]]),
    histogram('meridian_insert_duration_seconds', 'Duration of an insert of events.', () => [
      [{}, counts.insertSeconds],
    ]),
  ];
}
