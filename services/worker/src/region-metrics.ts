import { type EventCounts, readEventCounts, unaccountedEvents } from '@meridian/queue/event-counts';
import { deadLettersKey, eventsKeys, type Lane } from '@meridian/queue/log-keys';
import { logBytes, logLagMs } from '@meridian/queue/log-level';
import { gauge, type Metric } from '@meridian/runtime/metrics';
import type { Redis } from 'ioredis';

export type RegionMetricsDeps = {
  /** A connection that fails fast. */
  redis: Redis;
  partitions: number;
  failedJobs: { count(): Promise<number> };
};

/** What Redis tells of the whole region; the same from every worker. */
export function regionMetrics({ redis, partitions, failedJobs }: RegionMetricsDeps): Metric[] {
  const each = <Value>(ask: (partition: number) => Promise<Value>): Promise<Value[]> =>
    Promise.all(Array.from({ length: partitions }, (_, partition) => ask(partition)));
  const lagSeconds = async (lane: Lane) => (await logLagMs(redis, partitions, [lane])) / 1_000;
  const single = (name: string, help: string, read: () => Promise<number>) =>
    gauge(name, help, async () => [{ value: await read() }]);

  return [
    single(
      'meridian_event_log_lag_seconds',
      'Age of the oldest event that is not stored, without backfill; 0: none.',
      () => lagSeconds('live'),
    ),
    single(
      'meridian_backfill_lag_seconds',
      'Age of the oldest event of more than 30 days ago that is not stored.',
      () => lagSeconds('backfill'),
    ),
    single('meridian_event_log_entries', 'Entries of the event log.', async () =>
      sum(await Promise.all(eventsKeys(partitions).map((stream) => redis.xlen(stream)))),
    ),
    single('meridian_event_log_bytes', 'Memory of the event log in Redis, estimated.', () =>
      logBytes(redis, partitions),
    ),
    gauge('meridian_region_events', 'What became of all accepted events of the region.', async () =>
      stateSamples(await readEventCounts(redis)),
    ),
    single('meridian_region_events_unaccounted', 'Accepted events of which nothing became; not 0: a fault.', async () =>
      unaccountedEvents(await readEventCounts(redis)),
    ),
    single('meridian_dead_letters', 'Dead letters that wait for an operator.', async () =>
      sum(await each((partition) => redis.xlen(deadLettersKey(partition)))),
    ),
    single('meridian_jobs_failed', 'Background jobs that are given up.', failedJobs.count),
  ];
}

function stateSamples(counts: EventCounts) {
  const { accepted, queued, stored, deadLettered, removed, dropped } = counts;
  const states = { accepted, queued, stored, dead_lettered: deadLettered, removed, dropped };
  return Object.entries(states).map(([state, value]) => ({ value, labels: { state } }));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
