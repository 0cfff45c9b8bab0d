import type { ClickHouseClient } from '@clickhouse/client';
import { z } from 'zod';
import { rowsOf } from './client.ts';
import { localName, onCluster, readCluster } from './cluster.ts';
import type { DateRange, Question } from './question.ts';
import type { RunQuery } from './run-query.ts';
import { quarterMs } from './whole-quarters.ts';

const dayMs = 86_400_000;

/**
 * So many days longer than events their rollups are kept: a visit's events of the first days that are kept are found by
 * the row of the visit, which may have begun before. Only one that goes on for longer can lose its row too early.
 */
const rollupsKeptLongerDays = 8;

/** How far the clocks may differ by which this process and ClickHouse judge what has expired. */
const clocksApartMs = 3_600_000;

/**
 * What a row's age is counted from, in each table. A visit and a quarter are as old as their first moment, the texts of
 * a month as their last.
 */
const collectedAge = { events: 'toDateTime(created_at)', session_properties: 'toDateTime(created_at)' } as const;
const rollupAge = {
  site_visits: 'start_hour',
  stray_visits: 'start_hour',
  site_15m: 'bucket',
  site_texts: 'toDateTime(addMonths(month, 1))',
} as const;

/** What is to be changed about a table: the end of an ALTER TABLE. */
export type RetentionChange = { table: string; change: string };

/**
 * Sets for how many days (by event time) events are kept, and their rollups somewhat longer; undefined: for ever.
 * ClickHouse removes what is older in the background, within hours. Where it is set so already nothing is done.
 */
export async function setRetention(client: ClickHouseClient, days: number | undefined): Promise<void> {
  const on = onCluster(await readCluster(client));
  for (const { table, change } of await planRetention(client, days))
    await client.command({ query: `ALTER TABLE ${table} ${on} ${change}` });
}

/** What `setRetention` would do now. */
export async function planRetention(client: ClickHouseClient, days: number | undefined): Promise<RetentionChange[]> {
  const changes: RetentionChange[] = [];
  const cluster = await readCluster(client);
  for (const [name, age] of Object.entries({ ...collectedAge, ...rollupAge })) {
    const table = localName(name, cluster);
    const longerDays = name in rollupAge ? rollupsKeptLongerDays : 0;
    const ttl = days === undefined ? '' : `${age} + toIntervalDay(${days + longerDays})`;
    if ((await ttlOf(client, table)) !== ttl)
      changes.push({ table, change: ttl === '' ? 'REMOVE TTL' : `MODIFY TTL ${ttl}` });
  }
  return changes;
}

const retentionQuery = `SELECT toUInt32OrZero(extract(engine_full, ' TTL .*?toIntervalDay\\((\\d+)\\)')) AS days FROM system.tables
  WHERE database = currentDatabase() AND name IN ('events', 'events_local') AND days > 0`;
const RetentionRow = z.object({ days: z.number() });

/** From when on every event is sure to be kept; undefined: all are. */
export async function readKeptSince(client: ClickHouseClient, now: Date): Promise<Date | undefined> {
  const [row] = await rowsOf<z.infer<typeof RetentionRow>>(client, retentionQuery);
  return row && keptSince(row.days, now);
}

const keptSince = (days: number, now: Date) => new Date(now.getTime() - days * dayMs + clocksApartMs);

const lookAgainMs = 600_000;
const failedLookPauseMs = 5_000;
/** No event is so old. */
const nothing: DateRange = { startAt: new Date(0), endAt: new Date(0) };

/**
 * Cuts off of a question's ranges what retention removes, hours earlier in one table than in another: what is left has
 * one answer from whatever it is read. `run`: with little patience, as questions wait for it.
 */
export function createWithinRetention(run: RunQuery): (question: Question) => Promise<Question> {
  let days: Promise<number | undefined>;
  let lookAgainAtMs = Number.NEGATIVE_INFINITY;
  const look = ({ websiteId, route }: Question): Promise<number | undefined> => {
    if (performance.now() < lookAgainAtMs) return days;
    lookAgainAtMs = performance.now() + lookAgainMs;
    days = run({ sql: retentionQuery, params: {} }, { websiteId, route }, RetentionRow).then(
      ({ rows }) => rows[0]?.days,
      () => {
        lookAgainAtMs = performance.now() + failedLookPauseMs;
        return undefined;
      },
    );
    return days;
  };
  return async (question) => {
    const keptDays = await look(question);
    if (keptDays === undefined) return question;
    const sinceMs = Math.ceil(keptSince(keptDays, new Date()).getTime() / quarterMs) * quarterMs;
    const within = ({ startAt, endAt }: DateRange): DateRange =>
      endAt.getTime() < sinceMs ? nothing : { startAt: new Date(Math.max(startAt.getTime(), sinceMs)), endAt };
    const { range, cohort } = question;
    return { ...question, range: within(range), cohort: cohort && { ...cohort, range: within(cohort.range) } };
  };
}

/** The expression by which rows of the table expire, '' when they do not. */
async function ttlOf(client: ClickHouseClient, table: string): Promise<string> {
  const [row] = await rowsOf<{ ttl: string }>(
    client,
    `SELECT extract(engine_full, ' TTL (.*?)(?: SETTINGS |$)') AS ttl FROM system.tables
      WHERE database = currentDatabase() AND name = {table:String}`,
    { table },
  );
  return row?.ttl ?? '';
}
