import { filterCondition } from './filters.ts';
import type { Bind } from './query.ts';
import type { Cohort, Question, Selection } from './question.ts';
import type { ReadFrom } from './read-from.ts';

/** A visitor_key without the bit by which an identified session comes before an anonymous one. */
const sessionOf = (key: string) => `bitAnd(${key}, 9223372036854775807)`;

/** The session behind a visit, from the visitor_key of its events: the identified one where there is one. */
export const VISITOR_OF_VISIT = sessionOf('max(visitor_key)');

/** The session behind a row of site_visits, or behind an event whose visit has but one. */
export const VISITOR_OF_ROW = sessionOf('visitor_key');

/**
 * How many visitors (`visitor`) rows of visits have: they are sorted and compared with their neighbours, for half the
 * CPU of a set (DECISIONS.md, 2026-11-29). Rows of events repeat a visitor more often: for them a set is better.
 */
export const VISITORS_OF_VISITS = 'length(arrayCompact(arraySort(groupArray(visitor))))';

/**
 * Stands for the visit's id in sets: a set of UUIDs costs twice as much. That two of three million visits share one has
 * a chance of one in four million.
 */
export const VISIT_HASH = 'cityHash64(visit_id)';

/**
 * For questions that the projection by path cannot help: only to look whether it does costs 3 to 10 ms of CPU, more the
 * more parts the table has.
 */
export const NO_PROJECTION = 'SETTINGS optimize_use_projections = 0';

/** Where events alone are read they are few mostly, and the look costs more than it saves. */
export const projectionFor = (from: ReadFrom): string => (from === 'events' ? NO_PROJECTION : '');

/**
 * For what reads little at several places, where a second thread costs more than it brings, and the projection cannot
 * help.
 */
export const ONE_THREAD_NO_PROJECTION = `${NO_PROJECTION}, max_threads = 1`;

/** Order of collection among events of equal time, and the order of entry, exit, first and last. */
export const EVENT_ORDER = '(created_at, UUIDToNum(event_id))';

type Scope = Pick<Question, 'websiteId' | 'range' | 'collectedSince'>;

/**
 * The website's events of type 1 and 2 inside the range: what visits are judged over, whether they fit the filters or
 * not.
 */
export function visitScope(question: Scope, bind: Bind): string {
  return `${rangeScope(question, bind)} AND event_type IN (1, 2)`;
}

/** The website's events inside the range, of any type. */
export function rangeScope({ websiteId, range, collectedSince }: Scope, bind: Bind): string {
  const scope = `website_id = ${bind(websiteId, 'UUID')} AND created_at >= ${instant(range.startAt, bind)} AND created_at <= ${instant(range.endAt, bind)}`;
  return `${scope}${collectedCondition(collectedSince, bind)}`;
}

/** Leaves out what was collected earlier, by the time in the event's id; nothing without an instant. */
export function collectedCondition(since: Date | undefined, bind: Bind): string {
  return since ? ` AND UUIDv7ToDateTime(event_id, 'UTC') >= ${instant(since, bind)}` : '';
}

/** An instant with its milliseconds. */
export function instant(at: Date, bind: Bind): string {
  return `fromUnixTimestamp64Milli(${bind(at.getTime(), 'Int64')}, 'UTC')`;
}

/** The last second that a DateTime can hold. */
const lastSecond = 4_294_967_295;

/**
 * The second of an instant (Unix ms), or the nearest that a DateTime can hold. Trap: not for created_at, a DateTime64.
 * Of `created_at < DateTime` ClickHouse (26.7) makes "up to the second before" when it looks for granules, and leaves
 * out those that lie in that second.
 */
export function dateTime(ms: number, bind: Bind): string {
  return `toDateTime(${bind(Math.min(Math.max(Math.floor(ms / 1000), 0), lastSecond), 'Int64')}, 'UTC')`;
}

/** Whether an event inside the scope fits the question; `1` when all do. */
export function matchCondition(question: Question, bind: Bind): string {
  const { cohort, excludeBounce } = question;
  const conditions = [eventCondition(question, bind)];
  if (excludeBounce) conditions.push(`${VISIT_HASH} NOT IN (${bouncedVisits(question, bind)})`);
  if (cohort) conditions.push(`${VISIT_HASH} IN (${visitsOfCohort(question, cohort, bind)})`);
  return conditions.join(' AND ');
}

/** The part of `matchCondition` that an event alone decides: filters, segment and type. */
export function eventCondition(question: Question, bind: Bind): string {
  const { segment, eventType } = question;
  const conditions = selectionConditions(question, bind);
  if (segment) conditions.push(...selectionConditions(segment, bind));
  if (eventType !== undefined) conditions.push(`event_type = ${bind(eventType, 'UInt8')}`);
  return conditions.length === 0 ? '1' : conditions.join(' AND ');
}

/**
 * The part of `matchCondition` that a whole visit decides, over its events of `visitScope` grouped by visit.
 * `pageviews`: how many it has.
 */
export function visitCondition(question: Question, bind: Bind, pageviews: string): string {
  const { cohort, excludeBounce } = question;
  const conditions: string[] = [];
  if (excludeBounce) conditions.push(`${pageviews} != 1`);
  if (cohort) conditions.push(`${VISITOR_OF_VISIT} IN (${membersOf(question, cohort, bind)})`);
  return conditions.length === 0 ? '1' : conditions.join(' AND ');
}

/** Conditions that must all hold; none when nothing is filtered. */
function selectionConditions({ filters, match }: Selection, bind: Bind): string[] {
  const conditions = filters.map((filter) => filterCondition(filter, bind));
  return match === 'any' && conditions.length > 0 ? [`(${conditions.join(' OR ')})`] : conditions;
}

/** Visits in the question's range whose visitor is a member. */
function visitsOfCohort(question: Question, cohort: Cohort, bind: Bind): string {
  return `SELECT ${VISIT_HASH} FROM events WHERE ${visitScope(question, bind)} GROUP BY visit_id HAVING ${VISITOR_OF_VISIT} IN (${membersOf(question, cohort, bind)})`;
}

/** Visitors of the cohort: who is a member is decided in the cohort's own range. */
function membersOf(question: Question, cohort: Cohort, bind: Bind): string {
  const { type, value } = cohort.action;
  const did = [
    `event_type = ${type === 'path' ? 1 : 2}`,
    filterCondition({ name: type, op: 'eq', values: [value] }, bind),
    ...selectionConditions(cohort, bind),
  ].join(' AND ');
  return `SELECT ${VISITOR_OF_VISIT} FROM events WHERE ${visitScope({ ...question, range: cohort.range }, bind)} GROUP BY visit_id HAVING countIf(${did}) > 0`;
}

function bouncedVisits(question: Question, bind: Bind): string {
  return `SELECT ${VISIT_HASH} FROM events WHERE ${rangeScope(question, bind)} AND event_type = 1 GROUP BY visit_id HAVING count() = 1`;
}
