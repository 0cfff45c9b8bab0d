import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { clientOptions } from './client.ts';
import type { SessionPropertyRow } from './event-row.ts';
import { findRecentSessions } from './find-recent-sessions.ts';
import { type EventKey, findStoredEventIds } from './find-stored-event-ids.ts';
import { insertEvents, insertSessionProperties } from './insert.ts';
import { isApplied, migrate, siteVisitsMigration } from './migrate.ts';
import { purgeCollectedBefore, purgeWebsite } from './purge.ts';
import { type ActiveVisitorsContext, getActiveVisitors } from './queries/active-visitors.ts';
import { type LogOptions, type LogPage, listEvents } from './queries/event-log.ts';
import { getExpandedMetrics } from './queries/expanded-metrics.ts';
import { getMetrics, type MetricOptions } from './queries/metrics.ts';
import { getPageviewSeries } from './queries/pageview-series.ts';
import { getStats } from './queries/stats.ts';
import type { Question } from './question.ts';
import { createQuestionChannel } from './question-channel.ts';
import { planRetention, setRetention } from './retention.ts';
import { drawActiveWebsites, findRollupDrift } from './rollup-drift.ts';
import type { RollupScope } from './rollup-parts.ts';
import { createRunQuery, type OnQuery, readSettings } from './run-query.ts';
import { readClickHouseState } from './server-state.ts';
import { untilInsertsEnd } from './until-inserts-end.ts';
import type { ReadFrom } from './visit-rows.ts';
import { WarehouseError } from './warehouse-error.ts';

const sourcePauseMs = 5_000;
const sourceMaxMs = 2_000;

export type Warehouse = ReturnType<typeof createWarehouse>;

export type WarehouseOptions = {
  /** Hears of every question's queries. */
  onQuery?: OnQuery;
  /** `events`: the rollups are left alone, for comparison. */
  readFrom?: ReadFrom;
};

/** The way to ClickHouse. Opens nothing before the first call; throws WarehouseError. */
export function createWarehouse(clickhouseUrl: string, options: WarehouseOptions = {}) {
  const address = parseClickHouseUrl(clickhouseUrl);
  const client = createClient(clientOptions(address));
  const channel = createQuestionChannel(address, readSettings);
  const run = createRunQuery(channel, options.onQuery);
  const source = createSource(client, options.readFrom);
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
    getStats: async (question: Question) => getStats(run, question, await source(question.signal)),
    getPageviewSeries: async (question: Question, bucketStarts: readonly number[]) =>
      getPageviewSeries(run, question, bucketStarts, await source(question.signal)),
    getActiveVisitors: (context: ActiveVisitorsContext, since: Date) => getActiveVisitors(run, context, since),
    listEvents: async (question: Question, page: LogPage, options: LogOptions = {}) =>
      listEvents(run, question, page, options, await source(question.signal)),
    getMetrics: async (question: Question, options: MetricOptions) =>
      getMetrics(run, question, options, await source(question.signal)),
    getExpandedMetrics: async (question: Question, options: MetricOptions) =>
      getExpandedMetrics(run, question, options, await source(question.signal)),
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

/**
 * From what answers are computed: events until the rollups are filled, which is looked for again every few seconds. A server that does not
 * answer holds the question up for a moment only; it tells what is wrong by itself.
 */
function createSource(client: ClickHouseClient, readFrom: ReadFrom | undefined) {
  let known: ReadFrom | undefined = readFrom;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  return async (signal: AbortSignal | undefined): Promise<ReadFrom> => {
    if (known) return known;
    if (performance.now() - askedAtMs < sourcePauseMs) return 'events';
    askedAtMs = performance.now();
    const inTime = AbortSignal.timeout(sourceMaxMs);
    const isFilled = isApplied(client, siteVisitsMigration, signal ? AbortSignal.any([signal, inTime]) : inTime);
    if (await isFilled.catch(() => false)) known = 'rollups';
    return known ?? 'events';
  };
}
