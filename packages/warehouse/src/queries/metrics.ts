import { z } from 'zod';
import { matchCondition, VISITOR_OF_VISIT, visitScope } from '../conditions.ts';
import { containsText } from '../filters.ts';
import { type Bind, buildQuery, type Query } from '../query.ts';
import type { Answer, Question } from '../question.ts';
import type { RunQuery } from '../run-query.ts';
import { dimensions, type MetricType } from './dimensions.ts';

export type MetricOptions = {
  type: MetricType;
  limit: number;
  offset: number;
  /** Text that the values must contain. */
  search?: string | undefined;
};

const MetricRow = z.object({ x: z.string(), y: z.number(), country: z.string().optional() });
/** A value and how many visitors (for `event`: how many events) carry it. `country` beside a region or city. */
export type Metric = z.infer<typeof MetricRow>;

const ExpandedMetricRow = z.object({
  name: z.string(),
  country: z.string().optional(),
  pageviews: z.number(),
  visitors: z.number(),
  visits: z.number(),
  bounces: z.number(),
  /** Seconds. */
  totaltime: z.number(),
});
export type ExpandedMetric = z.infer<typeof ExpandedMetricRow>;

/** The values of a dimension, most first, equal ones in code point order; without the empty value. */
export async function getMetrics(run: RunQuery, question: Question, options: MetricOptions): Promise<Answer<Metric[]>> {
  const { rows, timing } = await run(metricsQuery(question, options), question, MetricRow);
  return { value: rows, timing };
}

/** The five numbers of stats for each value, in the order of getMetrics. */
export async function getExpandedMetrics(
  run: RunQuery,
  question: Question,
  options: MetricOptions,
): Promise<Answer<ExpandedMetric[]>> {
  const { rows, timing } = await run(expandedMetricsQuery(question, options), question, ExpandedMetricRow);
  return { value: rows, timing };
}

function metricsQuery(question: Question, options: MetricOptions): Query {
  return buildQuery((bind) => `SELECT x, ${rank(options)} AS y ${rankedValues(question, options, bind)}`);
}

function expandedMetricsQuery(question: Question, options: MetricOptions): Query {
  return buildQuery(
    (bind) => `
    SELECT x AS name, sum(value_pageviews) AS pageviews, uniqExact(visitor) AS visitors, count() AS visits,
      countIf(visit_pageviews = 1) AS bounces, sum(visit_seconds) AS totaltime
    ${rankedValues(question, options, bind)}`,
  );
}

const rank = ({ type }: MetricOptions) => (type === 'event' ? 'sum(value_events)' : 'uniqExact(visitor)');

/** Everything behind the numbers of a SELECT: from the pairs of visit and value to one row per value, ranked and cut. */
function rankedValues(question: Question, options: MetricOptions, bind: Bind): string {
  const { type, limit, offset, search } = options;
  const place = type === 'region' || type === 'city';
  return `${place ? ', country' : ''}
    FROM (${valuesOfVisits(question, options, bind)})
    ARRAY JOIN values.1 AS x, values.2 AS country, values.3 AS value_pageviews, values.4 AS value_events
    WHERE x != '' ${search ? `AND ${containsText('x', search, bind)}` : ''}
    GROUP BY x, country
    ORDER BY ${rank(options)} DESC, x, country
    LIMIT ${bind(limit, 'UInt64')} OFFSET ${bind(offset, 'UInt64')}`;
}

/** One row per visit: visitor, pageviews and seconds over all its events, and the values that its fitting events carry. */
function valuesOfVisits(question: Question, { type }: MetricOptions, bind: Bind): string {
  const dimension = dimensions[type];
  const country = type === 'region' || type === 'city' ? 'events.country' : "''";
  const perEvent = dimension.of === 'event';
  return `
    SELECT
      ${VISITOR_OF_VISIT} AS visitor,
      sum(group_pageviews) AS visit_pageviews,
      intDiv(max(group_last) - min(group_first), 1000) AS visit_seconds,
      groupArrayIf((group_value, group_country, fitting_pageviews, fitting_events), fitting_events > 0) AS values
    FROM (
      WITH ${matchCondition(question, bind)} AS fits
      SELECT
        visit_id,
        toString(${dimension.value}) AS group_value,
        ${country} AS group_country,
        max(events.visitor_key) AS visitor_key,
        toUnixTimestamp64Milli(min(created_at)) AS group_first,
        toUnixTimestamp64Milli(max(created_at)) AS group_last,
        countIf(event_type = 1) AS group_pageviews,
        countIf(fits AND event_type = 1) AS fitting_pageviews,
        countIf(fits) AS fitting_events
      FROM events
      WHERE ${visitScope(question, bind)}
      GROUP BY visit_id${perEvent ? ', group_value, group_country' : ''}
    )
    GROUP BY visit_id`;
}
