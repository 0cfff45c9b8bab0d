import type { ClickHouseClient } from '@clickhouse/client';
import { z } from 'zod';
import { isApplied, siteVisitsMigration } from './migrate.ts';
import { buildQuery } from './query.ts';
import type { Question } from './question.ts';
import type { RunQuery } from './run-query.ts';

/** Where answers are computed from: the events alone, or also the rollups where they give the same answer. */
export type ReadFrom = 'events' | 'rollups';

/** Decides for a question. It decides what the answer costs, and never what it says. */
export type ChooseReadFrom = (question: Question) => Promise<ReadFrom>;

/** So many events in a range cost about what it costs to look its ends up, which no rollup answers (tests/load/README.md). */
const fewEventsMax = 150_000;

/** Events until the rollups are filled; then events of ranges with few of them, and rollups of the others, unless one is `wanted`. */
export function createChooseReadFrom(client: ClickHouseClient, run: RunQuery, wanted?: ReadFrom): ChooseReadFrom {
  const areRollupsFilled = createAreRollupsFilled(client);
  const eventsIn = createEventsIn(run);
  return async (question) => {
    if (wanted === 'events' || !(await areRollupsFilled(question.signal))) return 'events';
    return wanted ?? ((await eventsIn(question)) > fewEventsMax ? 'rollups' : 'events');
  };
}

const fillingPauseMs = 5_000;
const fillingMaxMs = 2_000;

/** Looks again every few seconds until they are. A server that does not answer holds the question up for a moment only; it tells what is wrong by itself. */
function createAreRollupsFilled(client: ClickHouseClient) {
  let areFilled = false;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  return async (signal: AbortSignal | undefined): Promise<boolean> => {
    if (areFilled || performance.now() - askedAtMs < fillingPauseMs) return areFilled;
    askedAtMs = performance.now();
    const inTime = AbortSignal.timeout(fillingMaxMs);
    const isFilled = isApplied(client, siteVisitsMigration, signal ? AbortSignal.any([signal, inTime]) : inTime);
    if (await isFilled.catch(() => false)) areFilled = true;
    return areFilled;
  };
}

const MonthRow = z.object({ startMs: z.number(), endMs: z.number(), events: z.number() });
type Months = readonly z.infer<typeof MonthRow>[];

const monthsMaxAgeMs = 600_000;
const countingMaxMs = 2_000;
/** Of which the counts are remembered. */
const websitesMax = 10_000;

/**
 * About how many events of the website lie in the range: its months' counts, which are remembered for some minutes, as if the events of a month
 * were spread evenly. Infinity when they cannot be counted.
 */
function createEventsIn(run: RunQuery) {
  const remembered = new Map<string, { months: Promise<Months>; untilMs: number }>();

  function monthsOf({ websiteId, route }: Question): Promise<Months> {
    const known = remembered.get(websiteId);
    if (known && known.untilMs > performance.now()) return known.months;
    remembered.delete(websiteId);
    const [oldest] = remembered.keys();
    if (oldest !== undefined && remembered.size >= websitesMax) remembered.delete(oldest);
    // Not until whoever asked first goes away: others wait for the same answer.
    const signal = AbortSignal.timeout(countingMaxMs);
    const months = run(monthsQuery(websiteId), { websiteId, route, signal }, MonthRow).then(({ rows }) => rows);
    remembered.set(websiteId, { months, untilMs: performance.now() + monthsMaxAgeMs });
    months.catch(() => remembered.delete(websiteId));
    return months;
  }

  return async (question: Question): Promise<number> => {
    const [startMs, endMs] = [question.range.startAt.getTime(), question.range.endAt.getTime()];
    const months = await monthsOf(question).catch(() => undefined);
    if (!months) return Number.POSITIVE_INFINITY;
    let events = 0;
    for (const month of months) {
      const insideMs = Math.min(month.endMs, endMs) - Math.max(month.startMs, startMs);
      if (insideMs > 0) events += (month.events * insideMs) / (month.endMs - month.startMs);
    }
    return events;
  };
}

/** Each month from its first to its last quarter of an hour with an event. */
function monthsQuery(websiteId: string) {
  return buildQuery(
    (bind) => `
    SELECT toInt64(toUnixTimestamp(min(bucket))) * 1000 AS startMs, toInt64(toUnixTimestamp(max(bucket)) + 900) * 1000 AS endMs,
      toInt64(sum(pageviews + custom_events)) AS events
    FROM site_15m
    WHERE website_id = ${bind(websiteId, 'UUID')}
    GROUP BY toStartOfMonth(bucket)`,
  );
}
