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
import { getExpandedMetrics } from './queries/expanded-metrics.ts';
import { getMetrics, type MetricOptions } from './queries/metrics.ts';
import { getPageviewSeries } from './queries/pageview-series.ts';
import { getStats } from './queries/stats.ts';
import type { Question } from './question.ts';
import { createQuestionChannel } from './question-channel.ts';
import { createChooseReadFrom, lookMaxMs, type ReadFrom } from './read-from.ts';
import { planRetention, setRetention } from './retention.ts';
import { drawActiveWebsites, findRollupDrift } from './rollups/compare.ts';
import type { RollupScope } from './rollups/parts.ts';
import { createRunQuery, type OnQuery, readSettings } from './run-query.ts';
import { readClickHouseState } from './server-state.ts';
import { untilInsertsEnd } from './until-inserts-end.ts';
import { WarehouseError } from './warehouse-error.ts';

export type Warehouse = ReturnType<typeof createWarehouse>;

export type WarehouseOptions = {
  /** Hears of every question's queries. */
  onQuery?: OnQuery;
  /** For tests: where all answers come from, however many events there are; `rollups` only once they are filled. */
  readFrom?: ReadFrom;
};

/** The way to ClickHouse. Opens nothing before the first call; throws WarehouseError. */
export function createWarehouse(clickhouseUrl: string, options: WarehouseOptions = {}) {
  const address = parseClickHouseUrl(clickhouseUrl);
  const client = createClient(clientOptions(address));
  const channel = createQuestionChannel(address, readSettings);
  const run = createRunQuery(channel, options.onQuery);
  const look = createRunQuery(channel, options.onQuery, lookMaxMs);
  const choose = createChooseReadFrom(client, look, options.readFrom);
  return {
    /** Creates the database if it is missing and brings its schema up to date. */
    migrate: (cluster?: string) => migrate(address, cluster),
    setRetention: (days: number | undefined, cluster?: string) => setRetention(client, days, cluster),
    planRetention: (days: number | undefined) => planRetention(client, days),
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
    getStats: async (question: Question) => getStats(run, question, await choose(question)),
    getPageviewSeries: async (question: Question, bucketStarts: readonly number[]) =>
      getPageviewSeries(run, question, bucketStarts, await choose(question)),
    getActiveVisitors: (context: ActiveVisitorsContext, since: Date) => getActiveVisitors(run, context, since),
    listEvents: async (question: Question, page: LogPage, options: LogOptions = {}) =>
      listEvents(run, question, page, options, await choose(question)),
    getMetrics: async (question: Question, options: MetricOptions) =>
      getMetrics(run, question, options, await choose(question)),
    getExpandedMetrics: async (question: Question, options: MetricOptions) =>
      getExpandedMetrics(run, question, options, await choose(question)),
    purgeWebsite: (websiteId: string) => purgeWebsite(client, websiteId),
    purgeCollectedBefore: (websiteId: string, before: Date) => purgeCollectedBefore(client, websiteId, before),
    /** What server it is and whether its schema is this version's. */
    readState: () => readClickHouseState(address),
    findRollupDrift: (now: Date, scope: RollupScope) => findRollupDrift(client, now, scope),
    drawActiveWebsites: (now: Date, count: number) => drawActiveWebsites(client, now, count),
    /** Resolves when ClickHouse answers. */
    async ping(): Promise<void> {
      const answer = await client.ping();
      if (!answer.success)
        throw new WarehouseError('unavailable', 'ClickHouse does not answer', { cause: answer.error });
    },
    async close(): Promise<void> {
      await Promise.all([client.close(), channel.close()]);
    },
  };
}
