import { dateTime, instant, ONE_THREAD_NO_PROJECTION } from './conditions.ts';
import type { Bind } from './query.ts';
import type { FilterName, Question } from './question.ts';

const hourMs = 3_600_000;
/** An event lies at most so long before the hour in which its visit began, or its visit is in stray_visits. */
const beforeHourMs = hourMs;
/** And less than so long after it: migration 0002 keeps 63 quarters. */
const afterHourMs = 14.75 * hourMs;

/** The session behind a row of site_visits, or behind an event whose visit has but one. */
export const VISITOR_OF_ROW = 'bitAnd(visitor_key, 9223372036854775807)';

/** When the first of the quarters in a row begins, Unix ms. */
export const FIRST_QUARTER_MS = `toInt64(toUnixTimestamp(start_hour)) * 1000 - ${beforeHourMs}`;

/** Filters on what all events of a visit have in common, mostly; site_visits has the same columns. */
const attributeFilters: readonly FilterName[] = ['browser', 'os', 'device', 'country', 'region', 'city', 'language'];

/** How long it lasted, in whole seconds. */
export const SECONDS_OF_ROW = 'intDiv(toUnixTimestamp64Milli(last_at) - toUnixTimestamp64Milli(first_at), 1000)';

/** What makes a visit that lies inside the range unfit for an answer from its row in site_visits. */
export type Irregularity = 'attributes' | 'quarters';
const irregular: Record<Irregularity, string> = {
  attributes: 'attributes_min != attributes_max',
  quarters: 'bitTest(quarters, 63)',
};

/**
 * Whether a visit's row tells all that the question wants of its events: no filter, or only on what all events of a visit have in common.
 * A row of site_visits does not know when its events were collected.
 */
export function asksForWholeVisits({ filters, segment, cohort, collectedSince, eventType }: Question): boolean {
  if (cohort || collectedSince || eventType !== undefined) return false;
  return [...filters, ...(segment?.filters ?? [])].every((filter) =>
    ('anyOf' in filter ? filter.anyOf : [filter]).every(({ name }) => attributeFilters.includes(name)),
  );
}

export const hasFilters = ({ filters, segment }: Question): boolean =>
  filters.length + (segment?.filters.length ?? 0) > 0;

/** Rows of site_visits: visits all of whose events lie inside the range, that began around it, and whose row is regular. */
export function wholeVisits(question: Question, bind: Bind, without: Irregularity | null): string {
  const { startAt, endAt } = question.range;
  return `${siteOf(question, bind)} AND ${beganAround(startAt, endAt, bind)} AND first_at >= ${instant(startAt, bind)}
    AND last_at <= ${instant(endAt, bind)}${without ? ` AND NOT (${irregular[without]})` : ''}`;
}

/**
 * The `wholeVisits` without irregular quarters in two parts, to be read apart: the many that began where every visit but strays is inside the range,
 * for which no times are read, and those near its ends.
 */
export function wholeVisitsBetweenAndAtEnds(question: Question, bind: Bind): [string, string] {
  const { startAt, endAt } = question.range;
  const atEnds = beganAroundEnds(question, bind);
  const between = `${siteOf(question, bind)} AND ${beganAround(startAt, endAt, bind)} AND NOT ${atEnds} AND NOT (${irregular.quarters})`;
  return [between, `${wholeVisits(question, bind, 'quarters')} AND ${atEnds}`];
}

/**
 * An entry of the WITH of a query whose events are limited by `inCutVisits`: visits that overlap with the range and are not among
 * `wholeVisits`, and the times before and behind which their events lie.
 */
export function cutVisits(question: Question, bind: Bind, without: Irregularity | null): string {
  const { startAt, endAt } = question.range;
  const [start, end] = [instant(startAt, bind), instant(endAt, bind)];
  const [site, began] = [siteOf(question, bind), beganAround(startAt, endAt, bind)];
  const atEnds = beganAroundEnds(question, bind);
  const isStray = `(start_hour, visit_id) IN (SELECT start_hour, visit_id FROM stray_visits WHERE ${site})`;
  const found = `
      SELECT visit_id, first_at, last_at, ${without ? irregular[without] : '0'} OR NOT (${began}) AS is_irregular
      FROM site_visits FINAL
      WHERE ${site} AND (${atEnds} OR ${isStray}) AND first_at <= ${end} AND last_at >= ${start} AND (first_at < ${start} OR last_at > ${end} OR is_irregular)`;
  // Attributes may differ in any hour, quarters only of strays. Between the ends every row is looked at, so each gets the widest times that a visit of
  // its hour can have: to read its own would cost two columns.
  const between = `
      UNION ALL
      SELECT visit_id, ${fromHour(-beforeHourMs)} AS first_at, ${fromHour(afterHourMs)} AS last_at, 1 AS is_irregular
      FROM site_visits FINAL
      WHERE ${site} AND ${began} AND NOT ${atEnds} AND ${irregular.attributes}`;
  const [more, settings] = without === 'attributes' ? [between, ''] : ['', ONE_THREAD_NO_PROJECTION];
  return `(
    SELECT tuple(
      groupArray(visit_id),
      maxOrNullIf(last_at, first_at < ${start}),
      minOrNullIf(first_at, last_at > ${end}),
      minOrNullIf(first_at, is_irregular),
      maxOrNullIf(last_at, is_irregular))
    FROM (${found}${more})
    ${settings}
  ) AS cut`;
}

/** The instant so long after a row's start_hour. */
const fromHour = (ms: number): string => `toDateTime64(start_hour, 3, 'UTC') + toIntervalMillisecond(${ms})`;

/** For events of the range, beside `cutVisits` in the WITH. */
export const inCutVisits = `(ifNull(created_at <= cut.2, 0) OR ifNull(created_at >= cut.3, 0) OR ifNull(created_at BETWEEN cut.4 AND cut.5, 0))
  AND visit_id IN (SELECT arrayJoin(cut.1))`;

/**
 * A row for each reason why an event may not tell its visit's visitor: an anonymous and an identified session in one visit, or a visit from elsewhere.
 * Visits just outside of the range may be among them: that costs time, and less than to read when each visit began and ended.
 */
export function visitsOfTwoVisitors(question: Question, bind: Bind): string {
  const { startAt, endAt } = question.range;
  const site = siteOf(question, bind);
  return `
    SELECT 1 AS found FROM site_visits FINAL
    WHERE ${site} AND ${beganAround(startAt, endAt, bind)} AND visitor_key_min != visitor_key
    LIMIT 1
    UNION ALL
    SELECT 1 AS found FROM stray_visits WHERE ${site} LIMIT 1`;
}

const siteOf = ({ websiteId }: Question, bind: Bind): string => `website_id = ${bind(websiteId, 'UUID')}`;

/** The hours in which visits begin that have an event between the two instants, but for strays. */
function beganAround(from: Date, to: Date, bind: Bind): string {
  return `start_hour BETWEEN ${dateTime(from.getTime() - afterHourMs, bind)} AND ${dateTime(to.getTime() + beforeHourMs, bind)}`;
}

/** The hours in which visits begin that the range may cut. */
function beganAroundEnds({ range: { startAt, endAt } }: Question, bind: Bind): string {
  return `(${beganAround(startAt, startAt, bind)} OR ${beganAround(endAt, endAt, bind)})`;
}
