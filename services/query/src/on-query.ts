import { recordSpan } from '@meridian/runtime/tracing';
import type { OnQuery } from '@meridian/warehouse/run-query';
import type { QueryCounts } from './query-counts.ts';

/** Counts every query of ClickHouse, and records it in the trace of the request that asked it. */
export function createOnQuery(counts: Pick<QueryCounts, 'question'>): OnQuery {
  return (seconds, outcome) => {
    counts.question(seconds, outcome);
    recordSpan(performance.now() - seconds * 1_000, () => ({
      name: 'SELECT',
      kind: 'client',
      attributes: { 'db.system.name': 'clickhouse', 'db.operation.name': 'SELECT' },
      failed: outcome === 'ok' ? undefined : outcome,
    }));
  };
}
