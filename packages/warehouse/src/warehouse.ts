import { createClient } from '@clickhouse/client';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { clientOptions, rowsOf } from './client.ts';
import { findRecentSessions } from './find-recent-sessions.ts';
import { findStoredEventIds } from './find-stored-event-ids.ts';
import { insertEvents, insertSessionProperties } from './insert.ts';
import { isValidExpression } from './is-valid-expression.ts';
import { migrate, refuseOtherCluster } from './migrate.ts';
import { purgeCollectedBefore, purgeWebsite } from './purge.ts';
import { type ActiveVisitorsContext, getActiveVisitors } from './queries/active-visitors.ts';
import { type LogOptions, listEvents } from './queries/event-log.ts';
import type { LogPage } from './queries/event-log-rows.ts';
import { getExpandedMetrics } from './queries/expanded-metrics.ts';
import { getMetrics, type MetricOptions } from './queries/metrics.ts';
import { getPageviewSeries } from './queries/pageview-series.ts';
import { getStats } from './queries/stats.ts';
import type { DateRange, Question } from './question.ts';
import { createQuestionChannel } from './question-channel.ts';
import { createChooseReadFrom, lookMaxMs, type ReadFrom } from './read-from.ts';
import { remembersTokensSince } from './remembers-tokens.ts';
import { createWithinRetention, planRetention, setRetention } from './retention.ts';
import { compareRollups, drawActiveWebsites } from './rollups/compare.ts';
import { repairRollups } from './rollups/repair.ts';
import { createRunQuery, type OnQuery, type QueryContext, readSettings } from './run-query.ts';
import { readClickHouseState } from './server-state.ts';
import { untilInsertsEnd } from './until-inserts-end.ts';
import { callsOf } from './warehouse-error.ts';

export type Warehouse = ReturnType<typeof createWarehouse>;

export type WarehouseOptions = {
  /** Hears of every question's queries. */
  onQuery?: OnQuery;
  /** For tests: where all answers come from, however many events there are; `rollups` only once they are filled. */
  readFrom?: ReadFrom;
  /** For tests: how long a call may take that is neither a question nor a removal. */
  callMaxMs?: number;
};

/**
 * Of each statement of a removal, which writes parts anew, or a big website's rollups. ClickHouse goes on with it when
 * nobody waits any more, and a repetition has it done twice.
 */
const removalMaxMs = 3_600_000;

/**
 * The way to ClickHouse. Opens nothing before the first call; throws WarehouseError, but for `migrate`, which throws
 * what ClickHouse says.
 */
export function createWarehouse(clickhouseUrl: string, options: WarehouseOptions = {}) {
  const address = parseClickHouseUrl(clickhouseUrl);
  const common = clientOptions(address);
  const client = createClient({ ...common, ...(options.callMaxMs && { request_timeout: options.callMaxMs }) });
  const patient = createClient({
    ...common,
    request_timeout: removalMaxMs,
    clickhouse_settings: { ...common.clickhouse_settings, distributed_ddl_task_timeout: String(removalMaxMs / 1_000) },
  });
  const channel = createQuestionChannel(address, readSettings);
  const run = createRunQuery(channel, options.onQuery);
  const look = createRunQuery(channel, options.onQuery, lookMaxMs);
  const choose = createChooseReadFrom(client, look, options.readFrom);
  const withinRetention = createWithinRetention(look);
  const asking = async <Value>(question: Question, ask: (kept: Question, from: ReadFrom) => Promise<Value>) => {
    const kept = await withinRetention(question);
    return ask(kept, await choose(kept));
  };
  const { reading, writing } = callsOf(client);
  const { writing: removing } = callsOf(patient);
  return {
    /** Creates the database if it is missing and brings its schema up to date. */
    migrate: (cluster?: string) => migrate(address, cluster),
    /** Rejects, as `migrate` would, when the tables were made for another cluster, or for none. */
    refuseOtherCluster: reading(refuseOtherCluster),
    setRetention: writing(setRetention),
    planRetention: reading(planRetention),
    insertEvents: writing(insertEvents),
    insertSessionProperties: writing(insertSessionProperties),
    findStoredEventIds: reading(findStoredEventIds),
    untilInsertsEnd: reading(untilInsertsEnd),
    remembersTokensSince: reading(remembersTokensSince),
    findRecentSessions: reading(findRecentSessions),
    getStats: (question: Question) => asking(question, (kept, from) => getStats(run, kept, from)),
    getPageviewSeries: (question: Question, bucketStarts: readonly number[]) =>
      asking(question, (kept, from) => getPageviewSeries(run, kept, bucketStarts, from)),
    getActiveVisitors: (context: ActiveVisitorsContext, range: DateRange) => getActiveVisitors(run, context, range),
    isValidExpression: (expression: string, context: QueryContext) => isValidExpression(run, expression, context),
    listEvents: (question: Question, page: LogPage, options: LogOptions = {}) =>
      asking(question, (kept, from) => listEvents(run, kept, page, options, from)),
    getMetrics: (question: Question, options: MetricOptions) =>
      asking(question, (kept, from) => getMetrics(run, kept, options, from)),
    getExpandedMetrics: (question: Question, options: MetricOptions) =>
      asking(question, (kept, from) => getExpandedMetrics(run, kept, options, from)),
    purgeWebsite: removing(purgeWebsite),
    purgeCollectedBefore: removing(purgeCollectedBefore),
    repairRollups: removing(repairRollups),
    /** What server it is and whether its schema is this version's. */
    readState: () => readClickHouseState(address),
    compareRollups: reading(compareRollups),
    drawActiveWebsites: reading(drawActiveWebsites),
    /** Resolves when ClickHouse answers this user, in this database. */
    ping: reading(async (asked) => void (await rowsOf(asked, 'SELECT 1'))),
    async close(): Promise<void> {
      await Promise.all([client.close(), patient.close(), channel.close()]);
    },
  };
}
