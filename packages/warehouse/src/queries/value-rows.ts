import {
  eventCondition,
  VISIT_HASH,
  VISITOR_OF_ROW,
  VISITOR_OF_VISIT,
  visitCondition,
  visitScope,
} from '../conditions.ts';
import { equalsExactly } from '../filters.ts';
import type { Bind } from '../query.ts';
import type { Question } from '../question.ts';
import {
  type Attribute,
  asksForWholeVisits,
  cutVisits,
  filteredAttributes,
  fittingVisits,
  inCutVisits,
  SECONDS_OF_ROW,
  SECONDS_OF_VISIT,
  wholeVisits,
} from '../visit-rows.ts';
import { dimensions, type MetricType } from './dimensions.ts';

/*
 * Rows that a ranking groups by `x` (places by `x` and `x_country`): one for each visit and value that the visit's
 * fitting events carry, with the visitor; where the five numbers are asked for also value_pageviews and value_events
 * (of the visit, with that value), visit_pageviews and visit_seconds.
 */

/** A region or city has a name within its country only. */
export const isPlace = (type: MetricType): boolean => type === 'region' || type === 'city';

/** What the rows are grouped by: two texts as a key cost a fifth more than one. */
export const keysOf = (type: MetricType): string => (isPlace(type) ? 'x, x_country' : 'x');

/** For every question. */
export function rowsOfEvents(question: Question, type: MetricType, bind: Bind, among = '1'): string {
  const dimension = dimensions[type];
  const country = isPlace(type) ? 'events.country' : "''";
  return `
    SELECT values.1 AS x, values.2 AS x_country, visitor, values.3 AS value_pageviews, values.4 AS value_events, visit_pageviews, visit_seconds
    FROM (
      SELECT
        ${VISITOR_OF_VISIT} AS visitor,
        sum(group_pageviews) AS visit_pageviews,
        intDiv(max(group_last) - min(group_first), 1000) AS visit_seconds,
        groupArrayIf((group_value, group_country, fitting_pageviews, fitting_events), fitting_events > 0) AS values
      FROM (
        WITH ${eventCondition(question, bind)} AS fits
        SELECT
          visit_id,
          ${dimension.finish ? dimension.value : `toString(${dimension.value})`} AS group_value,
          ${country} AS group_country,
          max(events.visitor_key) AS visitor_key,
          toUnixTimestamp64Milli(min(created_at)) AS group_first,
          toUnixTimestamp64Milli(max(created_at)) AS group_last,
          countIf(event_type = 1) AS group_pageviews,
          countIf(fits AND event_type = 1) AS fitting_pageviews,
          countIf(fits) AS fitting_events
        FROM events
        WHERE ${visitScope(question, bind)} AND ${among}
        GROUP BY visit_id${dimension.of === 'event' ? ', group_value, group_country' : ''}
      )
      GROUP BY visit_id
      HAVING ${visitCondition(question, bind, 'visit_pageviews')}
    )
    ARRAY JOIN values`;
}

/**
 * As rowsOfEvents, for distinct visitors and counts of events only: one of each fitting event; of an attribute, which
 * most events of a visit share, one of each value.
 */
export function rowsToRank(question: Question, type: MetricType, bind: Bind): string {
  const { of, value, attributes } = dimensions[type];
  if (of === 'visit') return rowsOfEvents(question, type, bind);
  const text = `toString(${value})`;
  const [kept, x, country] = isPlace(type)
    ? [`(${text}, events.country)`, 'value.1', 'toString(value.2)']
    : [text, 'value', "''"];
  return `
    SELECT ${x} AS x, ${country} AS x_country, visitor, 1 AS value_events
    FROM (
      SELECT ${VISITOR_OF_VISIT} AS visitor, ${attributes ? 'groupUniqArrayIf' : 'groupArrayIf'}(${kept}, ${eventCondition(question, bind)}) AS values
      FROM events
      WHERE ${visitScope(question, bind)}
      GROUP BY visit_id
      HAVING ${visitCondition(question, bind, 'countIf(event_type = 1)')}
    )
    ARRAY JOIN values AS value`;
}

/**
 * What is wanted of each value: its visitors alone, or the five numbers too. A row knows all screens and referrers of
 * its visit, and not the pageviews of each.
 */
type Wanted = 'visitors' | 'numbers';

/** Whether rowsOfVisits gives the same: the value and what is filtered by stand in a visit's row. */
export function areInVisits(question: Question, type: MetricType, wanted: Wanted): boolean {
  return ofRowFor(type, wanted).value !== undefined && asksForWholeVisits(question);
}

/** The WITH that rowsOfVisits needs. */
export const cutOf = (question: Question, type: MetricType, wanted: Wanted, bind: Bind): string =>
  cutVisits(question, bind, withoutOf(question, type, wanted));

/** Of visits' rows; of events where a visit is cut by the range or its row does not tell. */
export function rowsOfVisits(question: Question, type: MetricType, wanted: Wanted, bind: Bind): string {
  const without = withoutOf(question, type, wanted);
  return `
    SELECT ${ofRowFor(type, wanted).value} AS x, ${isPlace(type) ? 'site_visits.country' : "''"} AS x_country, ${VISITOR_OF_ROW} AS visitor,
      pageviews AS value_pageviews, pageviews AS visit_pageviews, ${SECONDS_OF_ROW} AS visit_seconds
    FROM site_visits FINAL
    WHERE ${fittingVisits(question, bind, without)}
    UNION ALL
    SELECT x, x_country, visitor, value_pageviews, visit_pageviews, visit_seconds FROM (${rowsOfEvents(question, type, bind, inCutVisits(question, bind, without))})`;
}

/** What a visit's row tells, and in which attributes the visit's events must agree for that. */
function ofRowFor(type: MetricType, wanted: Wanted): { value?: string | undefined; attributes: readonly Attribute[] } {
  const { ofRow, allOfRow, attributes = [] } = dimensions[type];
  if (wanted === 'visitors' && allOfRow) return { value: `arrayJoin(${allOfRow})`, attributes: [] };
  return { value: ofRow, attributes };
}

const withoutOf = (question: Question, type: MetricType, wanted: Wanted): Attribute[] => [
  ...ofRowFor(type, wanted).attributes,
  ...filteredAttributes(question),
];

/** Whether rowsOfSingleEvents gives the same ranking: no visit as a whole decides, but for its visitor. */
export function areInSingleEvents({ cohort, collectedSince, excludeBounce }: Question, type: MetricType): boolean {
  return dimensions[type].of === 'event' && !cohort && !collectedSince && !excludeBounce;
}

/**
 * Of events, without grouping them by visit: as many rows as events, so good for distinct visitors (`visitor`) and
 * counts of events only. `oneVisitorPerVisit`: no visit in the range has an anonymous and an identified session, so
 * that each event tells the visitor.
 */
export function rowsOfSingleEvents(
  question: Question,
  type: MetricType,
  bind: Bind,
  { oneVisitorPerVisit, among = '1' }: { oneVisitorPerVisit: boolean; among?: string | undefined },
): string {
  const { value } = dimensions[type];
  const country = isPlace(type) ? 'events.country' : "''";
  // Only custom events have a name, and they lie together in the projection.
  const named = type === 'event' ? ' AND event_type = 2' : '';
  const scope = `${visitScope(question, bind)}${named} AND ${eventCondition(question, bind)} AND ${value} != '' AND ${among}`;
  if (oneVisitorPerVisit)
    return `SELECT ${value} AS x, ${country} AS x_country, ${VISITOR_OF_ROW} AS visitor, 1 AS value_events FROM events WHERE ${scope}`;
  return `
    SELECT ${value} AS x, ${country} AS x_country, if(known.visitor = 0, ${VISITOR_OF_ROW}, known.visitor) AS visitor, 1 AS value_events
    FROM events
    ANY LEFT JOIN (
      SELECT visit_id, ${VISITOR_OF_ROW} AS visitor FROM site_visits FINAL WHERE ${wholeVisits(question, bind, [])} AND visitor_key_min != visitor_key
      UNION ALL
      SELECT visit_id, ${VISITOR_OF_VISIT} AS visitor FROM events WHERE ${visitScope(question, bind)} AND ${inCutVisits(question, bind, [])} GROUP BY visit_id
    ) AS known USING visit_id
    WHERE ${scope}`;
}

/**
 * Of events with one of the values and of their visits' rows: as `rowsOfEvents`, for questions whose rows are in single
 * events. The WITH of `cutVisits` is needed.
 */
export function rowsOfValues(question: Question, type: MetricType, values: readonly string[], bind: Bind): string {
  const { value } = dimensions[type];
  const country = isPlace(type) ? 'events.country' : "''";
  const fitting = `FROM events WHERE ${visitScope(question, bind)} AND ${eventCondition(question, bind)} AND ${equalsExactly(value, values, bind)}`;
  return `
    SELECT x, x_country, visitor, value_pageviews, visit_pageviews, visit_seconds
    FROM (
      SELECT toString(${value}) AS x, ${country} AS x_country, visit_id, countIf(event_type = 1) AS value_pageviews
      ${fitting}
      GROUP BY x, x_country, visit_id
    ) AS of_value
    INNER JOIN (
      SELECT visit_id, ${VISITOR_OF_ROW} AS visitor, toUInt64(pageviews) AS visit_pageviews, ${SECONDS_OF_ROW} AS visit_seconds
      FROM site_visits FINAL
      WHERE ${wholeVisits(question, bind, [])} AND ${VISIT_HASH} IN (SELECT ${VISIT_HASH} ${fitting})
      UNION ALL
      SELECT visit_id, ${VISITOR_OF_VISIT} AS visitor, countIf(event_type = 1) AS visit_pageviews,
        ${SECONDS_OF_VISIT} AS visit_seconds
      FROM events
      WHERE ${visitScope(question, bind)} AND ${inCutVisits(question, bind, [])}
      GROUP BY visit_id
    ) AS of_visit USING visit_id`;
}
