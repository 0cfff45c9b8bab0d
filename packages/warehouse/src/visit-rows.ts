import { dateTime, eventCondition, instant, ONE_THREAD_NO_PROJECTION } from './conditions.ts';
import type { Bind } from './query.ts';
import type { FilterName, Question } from './question.ts';

const hourMs = 3_600_000;

/**
 * Where the events of a visit lie, from the hour in which it began: at most so long before it, and less than so long
 * after it, as migration 0002 keeps 63 quarters. A visit with others is in stray_visits.
 */
export const visitWindow = { beforeMs: hourMs, afterMs: 14.75 * hourMs };

/** When the first of the quarters in a row begins, Unix ms. */
export const FIRST_QUARTER_MS = `toInt64(toUnixTimestamp(start_hour)) * 1000 - ${visitWindow.beforeMs}`;

/**
 * What all events of a visit have in common, mostly. Columns of site_visits of the same name hold the least value of
 * the visit's events, and `<name>_max` the greatest; filters on them, but for screen, have the same names. A row has
 * all screens, too, since phones are turned.
 */
export const attributes = ['browser', 'os', 'device', 'screen', 'language', 'country', 'region', 'city'] as const;
export type Attribute = (typeof attributes)[number];

const secondsBetween = (first: string, last: string) =>
  `intDiv(toUnixTimestamp64Milli(${last}) - toUnixTimestamp64Milli(${first}), 1000)`;

/** How long a visit lasted, in whole seconds: from its row, and from its events. */
export const SECONDS_OF_ROW = secondsBetween('first_at', 'last_at');
export const SECONDS_OF_VISIT = secondsBetween('min(created_at)', 'max(created_at)');

/**
 * What makes a visit that lies inside the range unfit for an answer from its row in site_visits: quarters that the row
 * cannot hold, or events that differ in one of these attributes.
 */
export type Irregularity = 'quarters' | readonly Attribute[];

/** Nothing for no attributes: every visit is fit. */
const conditionOf = (irregularity: Irregularity): string =>
  irregularity === 'quarters'
    ? 'bitTest(quarters, 63)'
    : [...new Set(irregularity)].map((attribute) => `${attribute} != ${attribute}_max`).join(' OR ');

/**
 * Whether a visit's row tells all that the question wants of its events: no filter, or only on what all events of a
 * visit have in common. A row of site_visits does not know when its events were collected.
 */
export function asksForWholeVisits(question: Question): boolean {
  if (question.cohort || question.collectedSince || question.eventType !== undefined) return false;
  return filterNames(question).every(isAttribute);
}

/** By which attributes a question filters. */
export const filteredAttributes = (question: Question): Attribute[] => filterNames(question).filter(isAttribute);

const isAttribute = (name: FilterName): name is FilterName & Attribute =>
  attributes.some((attribute) => attribute === name);

const filterNames = ({ filters, segment }: Question) =>
  [...filters, ...(segment?.filters ?? [])]
    .flatMap((filter) => ('anyOf' in filter ? filter.anyOf : [filter]))
    .map(({ name }) => name);

export const hasFilters = ({ filters, segment }: Question): boolean =>
  filters.length + (segment?.filters.length ?? 0) > 0;

/**
 * Rows of site_visits: visits all of whose events lie inside the range, that began around it, and whose row is regular.
 * `without`: as of the `cutVisits` in the query's WITH, which has looked for others already: mostly there are none, and
 * to look at each row again would cost a tenth of a ranking.
 */
export function wholeVisits(question: Question, bind: Bind, without: Irregularity): string {
  const { startAt, endAt } = question.range;
  const unfit = conditionOf(without);
  return `${siteOf(question, bind)} AND ${beganAround(startAt, endAt, bind)} AND first_at >= ${instant(startAt, bind)}
    AND last_at <= ${instant(endAt, bind)}${unfit && ` AND (cut.4 IS NULL OR NOT (${unfit}))`}`;
}

/** The `wholeVisits` that fit the question's filters and bounce rule. */
export function fittingVisits(question: Question, bind: Bind, without: Irregularity): string {
  const notBounced = question.excludeBounce ? ' AND pageviews != 1' : '';
  return `${wholeVisits(question, bind, without)} AND ${eventCondition(question, bind)}${notBounced}`;
}

/**
 * The `wholeVisits` without irregular quarters in two parts, to be read apart: the many that began where every visit
 * but strays is inside the range, for which no times are read, and those near its ends.
 */
export function wholeVisitsBetweenAndAtEnds(question: Question, bind: Bind): [string, string] {
  const { startAt, endAt } = question.range;
  const atEnds = beganAroundEnds(question, bind);
  const between = `${siteOf(question, bind)} AND ${beganAround(startAt, endAt, bind)} AND NOT ${atEnds} AND NOT (${conditionOf('quarters')})`;
  return [between, `${wholeVisits(question, bind, 'quarters')} AND ${atEnds}`];
}

/**
 * An entry of the WITH of a query whose events are limited by `inCutVisits`: visits that overlap with the range and are
 * not among `wholeVisits`, and the times before and behind which their events lie. Between the range's ends visits are
 * irregular only by attributes; of them the times alone are noted, as the widest that a visit of its hour can have: ids
 * and times of all rows would have to be read for the sake of a few.
 */
export function cutVisits(question: Question, bind: Bind, without: Irregularity): string {
  const { startAt, endAt } = question.range;
  const [start, end] = [instant(startAt, bind), instant(endAt, bind)];
  const [site, began] = [siteOf(question, bind), beganAround(startAt, endAt, bind)];
  const atEnds = beganAroundEnds(question, bind);
  const unfit = conditionOf(without);
  const isStray = `(start_hour, visit_id) IN (SELECT start_hour, visit_id FROM stray_visits WHERE ${site})`;
  const found = `
      SELECT visit_id, first_at, last_at, ${unfit || '0'} OR NOT (${began}) AS is_irregular
      FROM site_visits FINAL
      WHERE ${site} AND (${atEnds} OR ${isStray}) AND first_at <= ${end} AND last_at >= ${start} AND (first_at < ${start} OR last_at > ${end} OR is_irregular)`;
  const between = `
      UNION ALL
      SELECT NULL AS visit_id, ${fromHour(-visitWindow.beforeMs)} AS first_at, ${fromHour(visitWindow.afterMs)} AS last_at, 1 AS is_irregular
      FROM site_visits FINAL
      WHERE ${site} AND ${began} AND NOT ${atEnds} AND (${unfit})`;
  const [more, settings] = mayBeAnywhere(without) ? [between, ''] : ['', ONE_THREAD_NO_PROJECTION];
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

/** For events of the range, beside `cutVisits` in the WITH. */
export function inCutVisits(question: Question, bind: Bind, without: Irregularity): string {
  const irregularBetween = `
    UNION ALL
    SELECT visit_id FROM site_visits FINAL
    WHERE ${siteOf(question, bind)} AND start_hour BETWEEN toDateTime(cut.4, 'UTC') AND toDateTime(cut.5, 'UTC') AND (${conditionOf(without)})`;
  return `(ifNull(created_at <= cut.2, 0) OR ifNull(created_at >= cut.3, 0) OR ifNull(created_at BETWEEN cut.4 AND cut.5, 0))
  AND visit_id IN (SELECT arrayJoin(cut.1)${mayBeAnywhere(without) ? irregularBetween : ''})`;
}

/** Attributes may differ in any hour; quarters are irregular only of strays. */
const mayBeAnywhere = (without: Irregularity): boolean => without !== 'quarters' && without.length > 0;

/** The instant so long after a row's start_hour. */
const fromHour = (ms: number): string => `toDateTime64(start_hour, 3, 'UTC') + toIntervalMillisecond(${ms})`;

/**
 * Has a row if an event's session may not be its visit's visitor: a visit has an anonymous and an identified session,
 * or the website has a stray visit. It may be of a visit just outside of the range: to read when each began and ended
 * would cost more than the slower way that this leads to.
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
  return `start_hour BETWEEN ${dateTime(from.getTime() - visitWindow.afterMs, bind)} AND ${dateTime(to.getTime() + visitWindow.beforeMs, bind)}`;
}

/** The hours in which visits begin that the range may cut. */
function beganAroundEnds({ range: { startAt, endAt } }: Question, bind: Bind): string {
  return `(${beganAround(startAt, startAt, bind)} OR ${beganAround(endAt, endAt, bind)})`;
}
