import type { ClickHouseClient } from '@clickhouse/client';
import { z } from 'zod';
import { isApplied, rollupsMigration } from './migrate.ts';
import { buildQuery } from './query.ts';
import type { Question } from './question.ts';
import type { RunQuery } from './run-query.ts';

/** Where answers are computed from: the events alone, or also the rollups where they give the same answer. */
export type ReadFrom = 'events' | 'rollups';

/** Decides for a question. It decides what the answer costs, and never what it says. */
export type ChooseReadFrom = (question: Question) => Promise<ReadFrom>;

/**
 * To read so many events costs about what the two ends of a range cost, which are read from events even with rollups
 * (tests/load/README.md).
 */
const fewEventsMax = 150_000;

/**
 * Events until the rollups are filled; then events of ranges with few of them, and rollups of the others. `run`: with
 * little patience, as questions wait for it. `wanted`: instead of counting.
 */
export function createChooseReadFrom(client: ClickHouseClient, run: RunQuery, wanted?: ReadFrom): ChooseReadFrom {
  const areRollupsFilled = createAreRollupsFilled(client);
  const eventsIn = createEventsIn(run);
  return async (question) => {
    if (wanted === 'events' || !(await areRollupsFilled())) return 'events';
    return wanted ?? ((await eventsIn(question)) > fewEventsMax ? 'rollups' : 'events');
  };
}

/** A server that does not answer holds questions up for a moment only; it tells what is wrong by itself. */
export const lookMaxMs = 2_000;
const failedLookPauseMs = 5_000;

/** Looks again every few seconds until they are; who asks meanwhile waits for the same look. */
function createAreRollupsFilled(client: ClickHouseClient) {
  let areFilled = Promise.resolve(false);
  let lookAgainAtMs = Number.NEGATIVE_INFINITY;
  return (): Promise<boolean> => {
    if (performance.now() < lookAgainAtMs) return areFilled;
    lookAgainAtMs = performance.now() + failedLookPauseMs;
    areFilled = isApplied(client, rollupsMigration, AbortSignal.timeout(lookMaxMs)).catch(() => false);
    void areFilled.then((areNow) => {
      if (areNow) lookAgainAtMs = Number.POSITIVE_INFINITY;
    });
    return areFilled;
  };
}

const DaysRow = z.object({ days: z.array(z.number()), events: z.array(z.number()) });
/** Days (UTC, since 1970) with pageviews or custom events, and how many these are. */
type Days = z.infer<typeof DaysRow>;

const dayMs = 86_400_000;
const daysMaxAgeMs = 600_000;
/** Of which the counts are remembered. */
const websitesMax = 2_000;

/**
 * About how many pageviews and custom events of the website lie in the range: its days' counts, which are remembered
 * for some minutes, as if those of a day were spread evenly. Infinity when they cannot be counted.
 */
function createEventsIn(run: RunQuery) {
  const remembered = new Map<string, { days: Promise<Days | undefined>; untilMs: number }>();

  function daysOf({ websiteId, route }: Question): Promise<Days | undefined> {
    const known = remembered.get(websiteId);
    if (known && known.untilMs > performance.now()) return known.days;
    remembered.delete(websiteId);
    const [oldest] = remembered.keys();
    if (oldest !== undefined && remembered.size >= websitesMax) remembered.delete(oldest);
    // Without the signal of whoever asked first: others wait for the same answer.
    const days = run(daysQuery(websiteId), { websiteId, route }, DaysRow).then(
      ({ rows }) => rows[0],
      () => undefined,
    );
    const entry = { days, untilMs: performance.now() + daysMaxAgeMs };
    remembered.set(websiteId, entry);
    void days.then((counted) => {
      if (!counted) entry.untilMs = performance.now() + failedLookPauseMs;
    });
    return days;
  }

  return async (question: Question): Promise<number> => {
    const [startMs, endMs] = [question.range.startAt.getTime(), question.range.endAt.getTime()];
    const counted = await daysOf(question);
    if (!counted) return Number.POSITIVE_INFINITY;
    return counted.days.reduce((sum, day, index) => {
      const insideMs = Math.min((day + 1) * dayMs, endMs) - Math.max(day * dayMs, startMs);
      return insideMs > 0 ? sum + ((counted.events[index] ?? 0) * insideMs) / dayMs : sum;
    }, 0);
  };
}

function daysQuery(websiteId: string) {
  return buildQuery(
    (bind) => `
    SELECT groupArray(day) AS days, groupArray(day_events) AS events
    FROM (
      SELECT toUInt32(toDate(bucket)) AS day, sum(pageviews + custom_events) AS day_events
      FROM site_15m
      WHERE website_id = ${bind(websiteId, 'UUID')}
      GROUP BY day
    )`,
  );
}
