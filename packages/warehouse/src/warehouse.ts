import { createClient } from '@clickhouse/client';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { clientOptions } from './client.ts';
import type { SessionPropertyRow } from './event-row.ts';
import { findRecentSessions } from './find-recent-sessions.ts';
import { type EventKey, findStoredEventIds } from './find-stored-event-ids.ts';
import { insertEvents, insertSessionProperties } from './insert.ts';
import { migrate } from './migrate.ts';
import { purgeCollectedBefore, purgeWebsite } from './purge.ts';
import { type ActiveVisitorsContext, getActiveVisitors } from './queries/active-visitors.ts';
import { type LogOptions, type LogPage, listEvents } from './queries/event-log.ts';
import { getExpandedMetrics, getMetrics, type MetricOptions } from './queries/metrics.ts';
import { getPageviewSeries } from './queries/pageview-series.ts';
import { getStats } from './queries/stats.ts';
import type { Question } from './question.ts';
import { setRetention } from './retention.ts';
import { findRollupDrift } from './rollup-drift.ts';
import { createRunQuery, type OnQuery } from './run-query.ts';
import { readClickHouseState } from './server-state.ts';
import { untilInsertsEnd } from './until-inserts-end.ts';
import { WarehouseError } from './warehouse-error.ts';

export type Warehouse = ReturnType<typeof createWarehouse>;

/** The way to ClickHouse. Opens nothing before the first call; throws WarehouseError. `onQuery`: hears of every question's queries. */
export function createWarehouse(clickhouseUrl: string, options: { onQuery?: OnQuery } = {}) {
  const address = parseClickHouseUrl(clickhouseUrl);
  const client = createClient(clientOptions(address));
  const run = createRunQuery(client, options.onQuery);
  return {
    /** Creates the database if it is missing and brings its schema up to date. */
    migrate: (cluster?: string) => migrate(address, cluster),
    setRetention: (days: number | undefined, cluster?: string) => setRetention(client, days, cluster),
    /**
     * Stores the rows as one block, exactly once per token, in the events and in every view. `rows`: as `writeEventRow` writes them, one behind
     * the other, some in each piece; at most 1,048,576, and of one year (UTC).
     */
    insertEvents: (rows: readonly Buffer[], token: string) => insertEvents(client, rows, token),
    insertSessionProperties: (rows: readonly SessionPropertyRow[], token: string) =>
      insertSessionProperties(client, rows, token),
    findStoredEventIds: (keys: readonly EventKey[]) => findStoredEventIds(client, keys),
    untilInsertsEnd: () => untilInsertsEnd(client),
    findRecentSessions: (websiteId: string, since: Date) => findRecentSessions(client, websiteId, since),
    getStats: (question: Question) => getStats(run, question),
    getPageviewSeries: (question: Question, bucketStarts: readonly number[]) =>
      getPageviewSeries(run, question, bucketStarts),
    getActiveVisitors: (context: ActiveVisitorsContext, since: Date) => getActiveVisitors(run, context, since),
    listEvents: (question: Question, page: LogPage, options: LogOptions = {}) =>
      listEvents(run, question, page, options),
    getMetrics: (question: Question, options: MetricOptions) => getMetrics(run, question, options),
    getExpandedMetrics: (question: Question, options: MetricOptions) => getExpandedMetrics(run, question, options),
    purgeWebsite: (websiteId: string) => purgeWebsite(client, websiteId),
    purgeCollectedBefore: (websiteId: string, before: Date) => purgeCollectedBefore(client, websiteId, before),
    /** What server it is and whether its schema is this version's. */
    readState: () => readClickHouseState(address),
    findRollupDrift: (now: Date, websites: number) => findRollupDrift(client, now, websites),
    /** Resolves when ClickHouse answers. */
    async ping(): Promise<void> {
      const answer = await client.ping();
      if (!answer.success)
        throw new WarehouseError('unavailable', 'ClickHouse does not answer', { cause: answer.error });
    },
    close: () => client.close(),
  };
}
