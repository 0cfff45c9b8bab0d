import { z } from 'zod';
import { NO_PROJECTION, ONE_THREAD_NO_PROJECTION } from '../conditions.ts';
import { buildQuery, type Query } from '../query.ts';
import type { Answer } from '../question.ts';
import type { RunQuery } from '../run-query.ts';
import { oneAfterTheOther, sideBySide } from '../timings.ts';
import { outsideWholeQuarters, startOfEnd, wholeQuarters } from '../whole-quarters.ts';
import {
  type CountedPage,
  CountRow,
  eventCountQuery,
  LOG_FIELDS,
  type LogEvent,
  LogRow,
  type LogScope,
  logCondition,
  NEWEST_FIRST,
  type OffsetPage,
  quarterEvents,
} from './event-log-rows.ts';

const CountedLogRow = LogRow.extend({ total: z.number() });

/** A page far from the newest event is as fast as the first: what lies between is counted by quarters of an hour. */
export async function readPageOfQuarters(
  run: RunQuery,
  scope: LogScope,
  page: OffsetPage,
): Promise<Answer<CountedPage>> {
  const near = await run(pageOfQuartersQuery(scope, page, true), scope.question, CountedLogRow);
  const [first] = near.rows;
  if (first && (near.rows.length === page.limit || first.total < page.offset + page.limit))
    return { value: { rows: near.rows.map(withoutTotal), total: first.total }, timing: near.timing };
  // Nothing, or less than is counted: the page lies behind the end, or a quarter counts more events than there are.
  const [all, counted] = await Promise.all([
    run(pageOfQuartersQuery(scope, page, false), scope.question, CountedLogRow),
    run(eventCountQuery(scope), scope.question, CountRow),
  ]);
  const timing = oneAfterTheOther([near.timing, sideBySide([all.timing, counted.timing])]);
  return { value: { rows: all.rows.map(withoutTotal), total: counted.rows[0]?.total ?? 0 }, timing };
}

const withoutTotal = ({ total: _, ...event }: z.infer<typeof CountedLogRow>): LogEvent => event;

/**
 * Below this offset newer events are read and not counted by quarters: those of a block that is being written may be in
 * no quarter yet.
 */
const skipFrom = 1_000;

/**
 * As `eventLogQuery`, of those quarters alone in which the page lies, with the count of all events in each row.
 * `isBounded`: nothing is read behind the quarter in which the page should end.
 * `near`: (1) the instant (Unix ms) before which the page lies, (2) how many events lie at or behind it, at most
 * `offset`, (3) the instant before which nothing of the page lies, 0 if unknown, (4) how many events the range has.
 * Trap: with named elements ClickHouse (26.7) does not take them for the constants that an OFFSET needs.
 */
function pageOfQuartersQuery(scope: LogScope, { offset, limit }: OffsetPage, isBounded: boolean): Query {
  const { question } = scope;
  return buildQuery((bind) => {
    const [first, last] = [bind(offset, 'Int64'), bind(offset + limit, 'Int64')];
    const isSkipped = offset < skipFrom ? '0' : `newer <= ${first}`;
    const isOutside = outsideWholeQuarters(question, bind);
    const ofEnds = isOutside
      ? `
          UNION ALL
          SELECT ${startOfEnd(question, bind)} AS start_ms, toInt64(count()) AS events
          FROM events
          WHERE ${logCondition(scope, bind)} AND ${isOutside}
          GROUP BY start_ms`
      : '';
    return `
    WITH
      (
        SELECT (
          if(countIf(${isSkipped}) > 0, minIf(start_ms, ${isSkipped}), ${bind(question.range.endAt.getTime() + 1, 'Int64')}),
          maxIf(newer, ${isSkipped}),
          maxIf(start_ms, newer >= ${last}),
          sum(events))
        FROM (
          SELECT start_ms, events, sum(events) OVER (ORDER BY start_ms DESC) AS newer
          FROM (
            SELECT toInt64(toUnixTimestamp(bucket)) * 1000 AS start_ms, sum(${quarterEvents(question)}) AS events
            FROM site_15m
            WHERE ${wholeQuarters(question, bind)}
            GROUP BY bucket${ofEnds}
          )
        )
      ) AS near
    SELECT near.4 AS total, ${LOG_FIELDS}
    FROM events
    WHERE ${logCondition(scope, bind)} AND created_at < fromUnixTimestamp64Milli(near.1, 'UTC')${isBounded ? " AND created_at >= fromUnixTimestamp64Milli(near.3, 'UTC')" : ''}
    ${NEWEST_FIRST}
    LIMIT ${bind(limit, 'UInt64')} OFFSET ${first} - near.2
    ${question.eventType === undefined ? ONE_THREAD_NO_PROJECTION : NO_PROJECTION}`;
  });
}
