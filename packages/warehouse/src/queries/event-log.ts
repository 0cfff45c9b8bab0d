import { z } from 'zod';
import {
  EVENT_ORDER,
  matchCondition,
  NO_PROJECTION,
  ONE_THREAD_NO_PROJECTION,
  projectionFor,
  rangeScope,
} from '../conditions.ts';
import type { EventCursor } from '../event-cursor.ts';
import { containsText, equalsExactly } from '../filters.ts';
import { type Bind, buildQuery, type Query } from '../query.ts';
import type { Answer, Question } from '../question.ts';
import type { ReadFrom } from '../read-from.ts';
import type { RunQuery } from '../run-query.ts';
import { oneAfterTheOther, sideBySide } from '../timings.ts';
import { hasFilters } from '../visit-rows.ts';
import { afterWholeQuarters, outsideWholeQuarters, wholeQuarters } from '../whole-quarters.ts';
import { columnOfKind, textsOfMonths } from './text-candidates.ts';

/** Where to read: `offset` rows from the newest, or behind a row read before. */
export type LogPage = OffsetPage | { cursor: EventCursor; limit: number };
type OffsetPage = { offset: number; limit: number };

export type LogOptions = {
  /** Text looked for in path, event name and title. */
  search?: string | undefined;
  /** Nothing beyond this many rows exists for the caller. */
  maxResults?: number | undefined;
};

const LogRow = z.object({
  id: z.string(),
  websiteId: z.string(),
  sessionId: z.string(),
  createdAt: z.number().transform((ms) => new Date(ms)),
  urlPath: z.string(),
  urlQuery: z.string(),
  referrerDomain: z.string(),
  referrerPath: z.string(),
  referrerQuery: z.string(),
  pageTitle: z.string(),
  hostname: z.string(),
  eventType: z.number(),
  eventName: z.string(),
  distinctId: z.string(),
  hasData: z.boolean(),
  browser: z.string(),
  os: z.string(),
  device: z.string(),
  country: z.string(),
  city: z.string(),
  tag: z.string(),
});
export type LogEvent = z.infer<typeof LogRow>;

const CountRow = z.object({ total: z.number() });
const CountedLogRow = LogRow.extend({ total: z.number() });

export type EventLog = {
  /** Newest first, equal times in the reverse order of collection. */
  rows: LogEvent[];
  /** All events that fit, at most maxResults. */
  count: number;
  /** More fit than maxResults allows to see. */
  isCapped: boolean;
  /** Where the next page begins; null behind the last row. */
  nextCursor: EventCursor | null;
};

/** A page of the event log. Performance events are in it only when the question asks for type 5. */
export async function listEvents(
  run: RunQuery,
  question: Question,
  page: LogPage,
  { search = '', maxResults = Number.MAX_SAFE_INTEGER }: LogOptions,
  from: ReadFrom,
): Promise<Answer<EventLog>> {
  const before = 'cursor' in page ? page.cursor.position : page.offset;
  const limit = Math.max(0, Math.min(page.limit, maxResults - before));
  const scope: LogScope = { question, search, from };
  const { value: counted, timing } = await readCountedPage(run, scope, { ...page, limit: limit + 1 });
  const rows = counted.rows.slice(0, limit);
  const last = rows.at(-1);
  const more = counted.rows.length > limit && before + limit < maxResults;
  const nextCursor =
    last && more ? { createdAtMs: last.createdAt.getTime(), eventId: last.id, position: before + rows.length } : null;
  const value = { rows, count: Math.min(counted.total, maxResults), isCapped: counted.total > maxResults, nextCursor };
  return { value, timing };
}

/** A page's rows, and how many events the log has in all. */
type CountedPage = { rows: LogEvent[]; total: number };

function readCountedPage(run: RunQuery, scope: LogScope, page: LogPage): Promise<Answer<CountedPage>> {
  if (scope.search !== '') return searchPage(run, scope, page);
  return 'offset' in page && isCountedByQuarters(scope)
    ? readPageOfQuarters(run, scope, page)
    : readPageAndCount(run, scope, page);
}

/** Which events are in the log, and where they are looked for. `texts`: those that contain what is searched for. */
type LogScope = { question: Question; search: string; from: ReadFrom; texts?: FoundTexts };

async function readPageAndCount(run: RunQuery, scope: LogScope, page: LogPage): Promise<Answer<CountedPage>> {
  const [{ rows, timing }, counted] = await Promise.all([
    run(eventLogQuery(scope, page), scope.question, LogRow),
    run(eventCountQuery(scope), scope.question, CountRow),
  ]);
  const total = counted.rows[0]?.total ?? 0;
  return { value: { rows, total }, timing: sideBySide([timing, counted.timing]) };
}

/** A page far from the newest event is as fast as the first: what lies between is counted by quarters of an hour. */
async function readPageOfQuarters(run: RunQuery, scope: LogScope, page: OffsetPage): Promise<Answer<CountedPage>> {
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
 * Looks through the range once if the text is rare: of what is found a page is then read at its instants. A page of a frequent text is full long
 * before the range ends.
 */
async function searchPage(run: RunQuery, searched: LogScope, page: LogPage): Promise<Answer<CountedPage>> {
  const { question } = searched;
  const looked = areTextsKnown(searched) ? await run(textsQuery(searched), question, TextsRow) : undefined;
  if (looked?.rows.length === 0) return { value: { rows: [], total: 0 }, timing: looked.timing };
  const scope = looked ? { ...searched, texts: foundTexts(looked.rows) } : searched;
  const counted = await run(foundQuery(scope), question, FoundRow);
  const { total, times } = counted.rows[0] ?? { total: 0, times: [] };
  const timings = looked ? [looked.timing, counted.timing] : [counted.timing];
  const query = total > times.length ? eventLogQuery(scope, page) : instantsQuery(scope, page, times);
  if (!query) return { value: { rows: [], total }, timing: oneAfterTheOther(timings) };
  const { rows, timing } = await run(query, question, LogRow);
  return { value: { rows, total }, timing: oneAfterTheOther([...timings, timing]) };
}

/** What a page holds, of the events found at these instants (Unix ms); undefined if that is nothing. */
function instantsQuery(scope: LogScope, page: LogPage, found: readonly number[]): Query | undefined {
  const times = found.toSorted((a, b) => b - a);
  if ('cursor' in page) {
    const { createdAtMs } = page.cursor;
    const older = times.filter((ms) => ms <= createdAtMs);
    const equal = older.filter((ms) => ms === createdAtMs).length;
    return eventLogQuery(scope, page, isAtOneOf(older.slice(0, page.limit + equal)));
  }
  const { offset, limit } = page;
  const newestMs = times[offset];
  if (newestMs === undefined) return undefined;
  const begin = times.indexOf(newestMs);
  return eventLogQuery(scope, { limit, offset: offset - begin }, isAtOneOf(times.slice(begin, offset + limit)));
}

const isAtOneOf = (times: readonly number[]) => (bind: Bind) =>
  `created_at IN (SELECT arrayJoin(arrayMap(ms -> fromUnixTimestamp64Milli(ms, 'UTC'), ${bind(times, 'Array(Int64)')})))`;

/** So many events found are read by their instants. */
const foundMax = 1_000;
const FoundRow = CountRow.extend({ times: z.array(z.number()) });

/** Asks for instants and not for ids, which the projection by path has not: so a text that only paths hold is looked up there. */
function foundQuery(scope: LogScope): Query {
  return buildQuery(
    (bind) =>
      `SELECT count() AS total, groupArray(${foundMax})(toUnixTimestamp64Milli(created_at)) AS times FROM events WHERE ${logScope(scope, bind)} ${projectionFor(scope.from)}`,
  );
}

function isUnfiltered({ question, search }: LogScope): boolean {
  const { cohort, collectedSince, excludeBounce } = question;
  return !cohort && !collectedSince && !excludeBounce && !hasFilters(question) && search === '';
}

/** site_15m counts all pageviews and custom events of a quarter of an hour, whatever else they are. */
const isCountedByQuarters = (scope: LogScope): boolean =>
  scope.from === 'rollups' && scope.question.eventType !== 5 && isUnfiltered(scope);

const quarterEvents = ({ eventType }: Question): string =>
  eventType === 1 ? 'pageviews' : eventType === 2 ? 'custom_events' : 'pageviews + custom_events';

const LOG_FIELDS = `
      event_id AS id, website_id AS websiteId, session_id AS sessionId, toUnixTimestamp64Milli(created_at) AS createdAt,
      url_path AS urlPath, url_query AS urlQuery, referrer_domain AS referrerDomain, referrer_path AS referrerPath,
      referrer_query AS referrerQuery, page_title AS pageTitle, hostname, event_type AS eventType, event_name AS eventName,
      distinct_id AS distinctId, CAST(data != '' AS Bool) AS hasData, browser, os, device, country, city, tag`;

const NEWEST_FIRST = 'ORDER BY created_at DESC, UUIDToNum(event_id) DESC';

function eventLogQuery(scope: LogScope, page: LogPage, condition: (bind: Bind) => string = () => '1'): Query {
  return buildQuery(
    (bind) => `
    SELECT ${LOG_FIELDS}
    FROM events
    WHERE ${logScope(scope, bind)} AND ${condition(bind)}${'cursor' in page ? ` AND ${olderThan(page.cursor, bind)}` : ''}
    ${NEWEST_FIRST}
    LIMIT ${bind(page.limit, 'UInt64')} OFFSET ${bind('cursor' in page ? 0 : page.offset, 'UInt64')}
    ${isUnfiltered(scope) && scope.question.eventType === undefined ? ONE_THREAD_NO_PROJECTION : projectionFor(scope.from)}`,
  );
}

/** Below this offset newer events are read and not counted by quarters: those of a block that is being written may be in no quarter yet. */
const skipFrom = 1_000;

/**
 * As `eventLogQuery`, of those quarters alone in which the page lies, with the count of all events in each row. `isBounded`: nothing is read behind the
 * quarter in which the page should end. `outside`: of the range's events in no whole quarter (1) how many lie behind the last one, (2) how
 * many there are. `near`: (1) the instant (Unix ms) before which the page lies, (2) how many events lie at or behind it, at most `offset`, (3) the
 * instant before which nothing of the page lies, 0 if unknown, (4) how many events the range has.
 */
function pageOfQuartersQuery(scope: LogScope, { offset, limit }: OffsetPage, isBounded: boolean): Query {
  const { question } = scope;
  return buildQuery((bind) => {
    const [first, last] = [bind(offset, 'Int64'), bind(offset + limit, 'Int64')];
    const isSkipped = offset < skipFrom ? '0' : `newer <= ${first}`;
    const isOutside = outsideWholeQuarters(question, bind);
    const outside = isOutside
      ? `(
        SELECT (toInt64(countIf(${afterWholeQuarters(question, bind)})), toInt64(count()))
        FROM events
        WHERE ${logScope(scope, bind)} AND ${isOutside}
      )`
      : '(toInt64(0), toInt64(0))';
    return `
    WITH
      ${outside} AS outside,
      (
        SELECT (
          if(countIf(${isSkipped}) > 0, minIf(start_ms, ${isSkipped}), ${bind(question.range.endAt.getTime() + 1, 'Int64')}),
          maxIf(newer, ${isSkipped}),
          maxIf(start_ms, newer >= ${last}),
          ifNull(outside.2, 0) + sum(events))
        FROM (
          SELECT toInt64(toUnixTimestamp(bucket)) * 1000 AS start_ms, sum(${quarterEvents(question)}) AS events, ifNull(outside.1, 0) + sum(events) OVER (ORDER BY bucket DESC) AS newer
          FROM site_15m
          WHERE ${wholeQuarters(question, bind)}
          GROUP BY bucket
        )
      ) AS near
    SELECT near.4 AS total, ${LOG_FIELDS}
    FROM events
    WHERE ${logScope(scope, bind)} AND created_at < fromUnixTimestamp64Milli(near.1, 'UTC')${isBounded ? " AND created_at >= fromUnixTimestamp64Milli(near.3, 'UTC')" : ''}
    ${NEWEST_FIRST}
    LIMIT ${bind(limit, 'UInt64')} OFFSET ${first} - near.2
    ${question.eventType === undefined ? ONE_THREAD_NO_PROJECTION : NO_PROJECTION}`;
  });
}

function eventCountQuery(scope: LogScope): Query {
  const { question } = scope;
  return buildQuery((bind) => {
    const events = `FROM events WHERE ${logScope(scope, bind)}`;
    if (!isCountedByQuarters(scope)) return `SELECT count() AS total ${events} ${projectionFor(scope.from)}`;
    const isOutside = outsideWholeQuarters(question, bind);
    const outside = isOutside ? `(SELECT count() ${events} AND ${isOutside})` : '0';
    return `SELECT toInt64(sum(${quarterEvents(question)}) + ${outside}) AS total
      FROM site_15m WHERE ${wholeQuarters(question, bind)} ${ONE_THREAD_NO_PROJECTION}`;
  });
}

function logScope(scope: LogScope, bind: Bind): string {
  const { question, search } = scope;
  const types = question.eventType === 5 ? 'event_type = 5' : 'event_type IN (1, 2)';
  const conditions = [rangeScope(question, bind), types, matchCondition(question, bind)];
  if (search !== '') conditions.push(searchCondition(scope, bind));
  return conditions.join(' AND ');
}

/** Of each column the texts, `many` if they are too many to be named; columns without any are left out. */
type FoundTexts = ReadonlyMap<string, readonly string[] | 'many'>;

/** Whether site_texts has all texts that are searched through, far fewer than there are events; it has none of performance events. */
const areTextsKnown = ({ question, from }: LogScope): boolean => from === 'rollups' && question.eventType !== 5;

const TextsRow = z.object({ kind: z.string(), count: z.number(), texts: z.array(z.string()) });
const textsMax = 1_000;

function textsQuery({ question, search }: LogScope): Query {
  return buildQuery(
    (bind) => `SELECT kind, count() AS count, groupArray(${textsMax})(text) AS texts
      FROM (SELECT DISTINCT kind, text FROM site_texts WHERE ${textsOfMonths(question, bind)} AND ${containsText('text', search, bind)})
      GROUP BY kind`,
  );
}

const foundTexts = (rows: readonly z.infer<typeof TextsRow>[]): FoundTexts =>
  new Map(rows.map(({ kind, count, texts }) => [kind, count === texts.length ? texts : 'many']));

function searchCondition({ question, search, texts }: LogScope, bind: Bind): string {
  const conditions = Object.entries(columnOfKind).flatMap(([kind, column]) => {
    if (!texts) return containsText(column, search, bind);
    const found = texts.get(kind);
    if (found === undefined) return [];
    if (found !== 'many') return equalsExactly(column, found, bind);
    return `${column} IN (SELECT text FROM site_texts WHERE ${textsOfMonths(question, bind)} AND kind = ${bind(kind, 'String')} AND ${containsText('text', search, bind)})`;
  });
  return `(${conditions.join(' OR ')})`;
}

/** The bound on created_at alone is there for the primary key. */
function olderThan({ createdAtMs, eventId }: EventCursor, bind: Bind): string {
  const at = `fromUnixTimestamp64Milli(${bind(createdAtMs, 'Int64')}, 'UTC')`;
  return `created_at <= ${at} AND ${EVENT_ORDER} < (${at}, UUIDToNum(${bind(eventId, 'UUID')}))`;
}
