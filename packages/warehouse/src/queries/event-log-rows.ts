import { z } from 'zod';
import {
  EVENT_ORDER,
  instant,
  matchCondition,
  ONE_THREAD_NO_PROJECTION,
  projectionFor,
  rangeScope,
} from '../conditions.ts';
import type { EventCursor } from '../event-cursor.ts';
import { containsText, equalsExactly } from '../filters.ts';
import { type Bind, buildQuery, type Query } from '../query.ts';
import type { Question } from '../question.ts';
import type { ReadFrom } from '../read-from.ts';
import { hasFilters } from '../visit-rows.ts';
import { outsideWholeQuarters, wholeQuarters } from '../whole-quarters.ts';
import { columnOfKind, textsOfMonths } from './text-candidates.ts';

/** Where to read: `offset` rows from the newest, or behind a row read before. */
export type LogPage = OffsetPage | { cursor: EventCursor; limit: number };
export type OffsetPage = { offset: number; limit: number };

/** Which events are in the log, and where they are looked for. `texts`: those that contain what is searched for. */
export type LogScope = { question: Question; search: string; from: ReadFrom; texts?: FoundTexts };

/** Of each column the texts, `many` if they are too many to be named; columns without any are left out. */
export type FoundTexts = ReadonlyMap<string, readonly string[] | 'many'>;

export const LogRow = z.object({
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

/** How many events the log has. */
export const CountRow = z.object({ total: z.number() });

/** A page's rows, and how many events the log has in all. */
export type CountedPage = { rows: LogEvent[]; total: number };

function isUnfiltered({ question, search }: LogScope): boolean {
  const { cohort, collectedSince, excludeBounce } = question;
  return !cohort && !collectedSince && !excludeBounce && !hasFilters(question) && search === '';
}

/** site_15m counts all pageviews and custom events of a quarter of an hour, whatever else they are. */
export const isCountedByQuarters = (scope: LogScope): boolean =>
  scope.from === 'rollups' && scope.question.eventType !== 5 && isUnfiltered(scope);

export const quarterEvents = ({ eventType }: Question): string =>
  eventType === 1 ? 'pageviews' : eventType === 2 ? 'custom_events' : 'pageviews + custom_events';

export const LOG_FIELDS = `
      event_id AS id, website_id AS websiteId, session_id AS sessionId, toUnixTimestamp64Milli(created_at) AS createdAt,
      url_path AS urlPath, url_query AS urlQuery, referrer_domain AS referrerDomain, referrer_path AS referrerPath,
      referrer_query AS referrerQuery, page_title AS pageTitle, hostname, event_type AS eventType, event_name AS eventName,
      distinct_id AS distinctId, CAST(data != '' AS Bool) AS hasData, browser, os, device, country, city, tag`;

export const NEWEST_FIRST = 'ORDER BY created_at DESC, UUIDToNum(event_id) DESC';

/** The rows of a page; `condition`: for what is known of them. */
export function eventLogQuery(scope: LogScope, page: LogPage, condition: (bind: Bind) => string = () => '1'): Query {
  return buildQuery(
    (bind) => `
    SELECT ${LOG_FIELDS}
    FROM events
    WHERE ${logCondition(scope, bind)} AND ${condition(bind)}${'cursor' in page ? ` AND ${olderThan(page.cursor, bind)}` : ''}
    ${NEWEST_FIRST}
    LIMIT ${bind(page.limit, 'UInt64')} OFFSET ${bind('cursor' in page ? 0 : page.offset, 'UInt64')}
    ${isUnfiltered(scope) && scope.question.eventType === undefined ? ONE_THREAD_NO_PROJECTION : projectionFor(scope.from)}`,
  );
}

/** How many events the log has. */
export function eventCountQuery(scope: LogScope): Query {
  const { question } = scope;
  return buildQuery((bind) => {
    const events = `FROM events WHERE ${logCondition(scope, bind)}`;
    if (!isCountedByQuarters(scope)) return `SELECT count() AS total ${events} ${projectionFor(scope.from)}`;
    const isOutside = outsideWholeQuarters(question, bind);
    const outside = isOutside ? `(SELECT count() ${events} AND ${isOutside})` : '0';
    return `SELECT toInt64(sum(${quarterEvents(question)}) + ${outside}) AS total
      FROM site_15m WHERE ${wholeQuarters(question, bind)} ${ONE_THREAD_NO_PROJECTION}`;
  });
}

/** Holds for the events that are in the log. */
export function logCondition(scope: LogScope, bind: Bind): string {
  const { question, search } = scope;
  const types = question.eventType === 5 ? 'event_type = 5' : 'event_type IN (1, 2)';
  const conditions = [rangeScope(question, bind), types, matchCondition(question, bind)];
  if (search !== '') conditions.push(searchCondition(scope, bind));
  return conditions.join(' AND ');
}

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
  const at = instant(new Date(createdAtMs), bind);
  return `created_at <= ${at} AND ${EVENT_ORDER} < (${at}, UUIDToNum(${bind(eventId, 'UUID')}))`;
}
