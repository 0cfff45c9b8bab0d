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
      failed: isOurs(outcome) ? outcome : undefined,
    }));
  };
}

/** A fault of the store's or ours, unlike an expression that is none, or a caller who went away. */
const isOurs = (outcome: Parameters<OnQuery>[1]): boolean => !['ok', 'invalid-expression', 'aborted'].includes(outcome);
