import { z } from 'zod';
import { EVENT_ORDER, matchCondition, rangeScope } from '../conditions.ts';
import type { EventCursor } from '../event-cursor.ts';
import { containsText } from '../filters.ts';
import { type Bind, buildQuery, type Query } from '../query.ts';
import type { Answer, Question, Timing } from '../question.ts';
import type { RunQuery } from '../run-query.ts';

/** Where to read: `offset` rows from the newest, or behind a row read before. */
export type LogPage = { offset: number; limit: number } | { cursor: EventCursor; limit: number };

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
): Promise<Answer<EventLog>> {
  const before = 'cursor' in page ? page.cursor.position : page.offset;
  const limit = Math.max(0, Math.min(page.limit, maxResults - before));
  const [found, counted] = await Promise.all([
    run(eventLogQuery(question, { ...page, limit: limit + 1 }, search), question, LogRow),
    run(eventCountQuery(question, search), question, CountRow),
  ]);
  const total = counted.rows[0]?.total ?? 0;
  const rows = found.rows.slice(0, limit);
  const last = rows.at(-1);
  const more = found.rows.length > limit && before + limit < maxResults;
  const nextCursor =
    last && more ? { createdAtMs: last.createdAt.getTime(), eventId: last.id, position: before + rows.length } : null;
  return {
    value: { rows, count: Math.min(total, maxResults), isCapped: total > maxResults, nextCursor },
    timing: together(found.timing, counted.timing),
  };
}

function eventLogQuery(question: Question, page: LogPage, search: string): Query {
  return buildQuery(
    (bind) => `
    SELECT
      event_id AS id, website_id AS websiteId, session_id AS sessionId, toUnixTimestamp64Milli(created_at) AS createdAt,
      url_path AS urlPath, url_query AS urlQuery, referrer_domain AS referrerDomain, referrer_path AS referrerPath,
      referrer_query AS referrerQuery, page_title AS pageTitle, hostname, event_type AS eventType, event_name AS eventName,
      distinct_id AS distinctId, CAST(data != '' AS Bool) AS hasData, browser, os, device, country, city, tag
    FROM events
    WHERE ${logScope(question, search, bind)} ${'cursor' in page ? `AND ${olderThan(page.cursor, bind)}` : ''}
    ORDER BY created_at DESC, UUIDToNum(event_id) DESC
    LIMIT ${bind(page.limit, 'UInt64')} OFFSET ${bind('cursor' in page ? 0 : page.offset, 'UInt64')}`,
  );
}

function eventCountQuery(question: Question, search: string): Query {
  return buildQuery((bind) => `SELECT count() AS total FROM events WHERE ${logScope(question, search, bind)}`);
}

function logScope(question: Question, search: string, bind: Bind): string {
  const types = question.eventType === 5 ? 'event_type = 5' : 'event_type IN (1, 2)';
  const conditions = [rangeScope(question, bind), types, matchCondition(question, bind)];
  if (search !== '')
    conditions.push(
      `(${['url_path', 'event_name', 'page_title'].map((column) => containsText(column, search, bind)).join(' OR ')})`,
    );
  return conditions.join(' AND ');
}

/** The bound on created_at alone is there for the primary key. */
function olderThan({ createdAtMs, eventId }: EventCursor, bind: Bind): string {
  const at = `fromUnixTimestamp64Milli(${bind(createdAtMs, 'Int64')}, 'UTC')`;
  return `created_at <= ${at} AND ${EVENT_ORDER} < (${at}, UUIDToNum(${bind(eventId, 'UUID')}))`;
}

/** Both queries ran side by side. */
const together = (a: Timing, b: Timing): Timing => ({
  elapsedMs: Math.max(a.elapsedMs, b.elapsedMs),
  rowsRead: a.rowsRead + b.rowsRead,
  bytesRead: a.bytesRead + b.bytesRead,
});
