import type { EventCursor } from '../event-cursor.ts';
import type { Answer, Question } from '../question.ts';
import type { ReadFrom } from '../read-from.ts';
import type { RunQuery } from '../run-query.ts';
import { sideBySide } from '../timings.ts';
import { readPageOfQuarters } from './event-log-quarters.ts';
import {
  type CountedPage,
  CountRow,
  eventCountQuery,
  eventLogQuery,
  isCountedByQuarters,
  type LogEvent,
  type LogPage,
  LogRow,
  type LogScope,
} from './event-log-rows.ts';
import { searchPage } from './event-log-search.ts';

export type LogOptions = {
  /** Text looked for in path, event name and title. */
  search?: string | undefined;
  /** Nothing beyond this many rows exists for the caller. */
  maxResults?: number | undefined;
};

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

function readCountedPage(run: RunQuery, scope: LogScope, page: LogPage): Promise<Answer<CountedPage>> {
  if (scope.search !== '') return searchPage(run, scope, page);
  return 'offset' in page && isCountedByQuarters(scope)
    ? readPageOfQuarters(run, scope, page)
    : readPageAndCount(run, scope, page);
}

async function readPageAndCount(run: RunQuery, scope: LogScope, page: LogPage): Promise<Answer<CountedPage>> {
  const [{ rows, timing }, counted] = await Promise.all([
    run(eventLogQuery(scope, page), scope.question, LogRow),
    run(eventCountQuery(scope), scope.question, CountRow),
  ]);
  const total = counted.rows[0]?.total ?? 0;
  return { value: { rows, total }, timing: sideBySide([timing, counted.timing]) };
}
