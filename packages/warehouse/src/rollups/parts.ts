import type { ClickHouseClient } from '@clickhouse/client';
import { rowsOf } from '../client.ts';
import { readKeptSince } from '../retention.ts';
import { visitWindow } from '../visit-rows.ts';

export type RollupTable = 'site_visits' | 'stray_visits' | 'site_15m' | 'site_texts';

/**
 * Which rollups are meant: of these websites (UUIDs), or of all; what events of this time make of them, `to` being the
 * first that is not.
 */
export type RollupScope = { websiteIds?: readonly string[]; from?: Date; to?: Date };

/**
 * Some rows of a rollup, and the events that make them: what is compared by one query. Both are conditions, with
 * {websiteIds:Array(UUID)}.
 */
export type RollupPart = {
  table: RollupTable;
  events: string;
  /** Holds for rows of the rollup as for those that the view's definition makes of the events. */
  rows: string;
  /** What only the rollup has is no difference: other events than these tell about it. */
  onlyMissing?: true;
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The last day that a DateTime holds whole. */
const endMs = Date.UTC(2106, 0, 1);
/** Events that one query aggregates at most, unless a single day or month has more. */
const eventsPerPart = 1_000_000;

type Range = { fromMs: number; toMs: number };

/**
 * Everything in the scope in parts of a size that a query can hold, as far as no TTL has touched rows or events. A part
 * begins and ends where its table's rows do: quarters, hours, months. To be compared, and put right, in this order: the
 * later ones rely on stray_visits.
 */
export async function listRollupParts(client: ClickHouseClient, now: Date, scope: RollupScope): Promise<RollupPart[]> {
  const keptMs = (await readKeptSince(client, now))?.getTime() ?? 0;
  const site = scope.websiteIds ? 'website_id IN {websiteIds:Array(UUID)}' : '1';
  const params = { websiteIds: scope.websiteIds };
  /** A visit that began later has no event that may have expired, unless it is a stray one. */
  const keptVisitsMs = keptMs && startOfHour(keptMs + visitWindow.beforeMs) + hourMs;
  const visits = rangeOf(scope, keptVisitsMs, startOfHour);
  const quarters = rangeOf(scope, keptMs, startOfQuarter);
  const months = rangeOf(scope, keptMs, startOfMonth);
  const steps = (range: Range, at: string, table: RollupTable, step: Step) =>
    listSteps(client, { range, site, params, at, table, step });
  const parts: RollupPart[] = [];

  const isStart = inRange('start_hour', visits);
  for (const step of await steps(eventsAround(visits), 'start_hour', 'stray_visits', daily))
    parts.push({
      table: 'stray_visits',
      events: eventsIn(step),
      rows: `${site} AND start_hour >= ${instant(keptVisitsMs)}`, // whenever it began
      onlyMissing: true,
    });
  // The events of stray visits may lie anywhere. Of one that began before what is kept some have expired.
  const ids = '(website_id, visit_id)';
  const strays = `(SELECT ${ids} FROM stray_visits WHERE ${site} AND ${isStart})`;
  const cutStrays = `(SELECT ${ids} FROM site_visits WHERE ${site} AND ${isStart} AND first_at < ${instant(keptMs)})`;
  const isStray = `${site} AND ${isStart} AND ${ids} IN ${strays}${keptMs ? ` AND ${ids} NOT IN ${cutStrays}` : ''}`;
  for (const table of ['stray_visits', 'site_visits'] as const) parts.push({ table, events: '1', rows: isStray });
  for (const step of await steps(visits, 'start_hour', 'site_visits', withNeighbours))
    parts.push({
      table: 'site_visits',
      events: eventsIn(eventsAround(step)),
      rows: `${site} AND ${inRange('start_hour', step)} AND ${ids} NOT IN ${strays}`,
    });

  for (const step of await steps(quarters, 'bucket', 'site_15m', daily))
    parts.push({
      table: 'site_15m',
      events: eventsIn(step),
      rows: `${site} AND ${inRange('bucket', step)}`,
    });
  for (const step of await steps(months, 'month', 'site_texts', monthly))
    parts.push({
      table: 'site_texts',
      events: eventsIn(step),
      rows: `${site} AND month >= toDate(${instant(step.fromMs)}, 'UTC') AND month < toDate(${instant(step.toMs)}, 'UTC')`,
    });
  return parts;
}

const startOfQuarter = (ms: number) => Math.floor(ms / (hourMs / 4)) * (hourMs / 4);
const startOfHour = (ms: number) => Math.floor(ms / hourMs) * hourMs;
const startOfMonth = (ms: number) => Date.UTC(new Date(ms).getUTCFullYear(), new Date(ms).getUTCMonth());
const nextMonth = (ms: number) => Date.UTC(new Date(ms).getUTCFullYear(), new Date(ms).getUTCMonth() + 1);

/** The scope's time in whole rows of a table, without those that begin before `keptMs`. */
function rangeOf({ from, to }: RollupScope, keptMs: number, startOf: (ms: number) => number): Range {
  const endOf = (ms: number) => {
    if (startOf(ms) === ms) return ms;
    return startOf === startOfMonth ? nextMonth(ms) : startOf(ms + (startOf === startOfHour ? hourMs : hourMs / 4));
  };
  const fromMs = Math.max(startOf(Math.max(from?.getTime() ?? 0, 0)), endOf(keptMs));
  return { fromMs, toMs: Math.max(fromMs, Math.min(endOf(Math.min(to?.getTime() ?? endMs, endMs)), endMs)) };
}

function eventsAround({ fromMs, toMs }: Range): Range {
  return { fromMs: Math.max(fromMs - visitWindow.beforeMs, 0), toMs: Math.min(toMs + visitWindow.afterMs, endMs) };
}

const inRange = (column: string, { fromMs, toMs }: Range) =>
  `${column} >= ${instant(fromMs)} AND ${column} < ${instant(toMs)}`;

/** Trap: compared with a DateTime, events of the last second could be left out (conditions.ts). */
const eventsIn = ({ fromMs, toMs }: Range) =>
  `created_at >= fromUnixTimestamp64Milli(toInt64(${fromMs})) AND created_at < fromUnixTimestamp64Milli(toInt64(${toMs}))`;

/**
 * Without a zone, for no quotes: a part's condition becomes text in a setting. Where a column has a zone this is the
 * same instant.
 */
const instant = (ms: number) => `toDateTime(${Math.floor(ms / 1_000)})`;

/** How days that have events or rows become steps: where the one of a day begins, and where it ends. */
type Step = { start(dayMs: number): number; end(dayMs: number): number };
const daily: Step = { start: (ms) => ms, end: (ms) => ms + dayMs };
/** The events of a day belong to visits of the day before and the day behind, too. */
const withNeighbours: Step = { start: (ms) => ms - dayMs, end: (ms) => ms + 2 * dayMs };
const monthly: Step = { start: startOfMonth, end: nextMonth };

/** The range, as far as there are events or rows, cut between days into steps that do not overlap. */
async function listSteps(
  client: ClickHouseClient,
  asked: {
    range: Range;
    site: string;
    params: Record<string, unknown>;
    at: string;
    table: RollupTable;
    step: Step;
  },
): Promise<Range[]> {
  const { range, site, params, at, table, step } = asked;
  const times = (from: string, column: string, around: Range) =>
    `SELECT toDateTime(${column}, 'UTC') AS at FROM ${from} WHERE ${site} AND at >= ${instant(around.fromMs)} AND at < ${instant(around.toMs)}`;
  const days = await rowsOf<{ day: number; n: string | number }>(
    client,
    `SELECT toUnixTimestamp(toStartOfDay(at)) AS day, count() AS n
      FROM (${times('events', 'created_at', eventsAround(range))} UNION ALL ${times(table, at, range)}) GROUP BY day ORDER BY day`,
    params,
  );
  const steps: (Range & { events: number })[] = [];
  for (const { day, n } of days) {
    const events = Number(n);
    const [fromMs, toMs] = [step.start(day * 1_000), step.end(day * 1_000)];
    const last = steps.at(-1);
    if (last && last.events + events <= eventsPerPart) {
      last.toMs = Math.max(last.toMs, toMs);
      last.events += events;
    } else {
      steps.push({ fromMs: Math.max(fromMs, last?.toMs ?? range.fromMs), toMs, events });
    }
  }
  return steps
    .map(({ fromMs, toMs }) => ({ fromMs, toMs: Math.min(toMs, range.toMs) }))
    .filter(({ fromMs, toMs }) => fromMs < toMs);
}
