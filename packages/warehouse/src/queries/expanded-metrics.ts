import { z } from 'zod';
import { NO_PROJECTION, VISITORS_OF_VISITS } from '../conditions.ts';
import { type Bind, buildQuery } from '../query.ts';
import type { Answer, Question } from '../question.ts';
import type { ReadFrom } from '../read-from.ts';
import type { RunQuery } from '../run-query.ts';
import { oneAfterTheOther } from '../timings.ts';
import { cutVisits } from '../visit-rows.ts';
import { EVENTS, getMetrics, type MetricOptions, rankedValues } from './metrics.ts';
import {
  areInSingleEvents,
  areInVisits,
  cutOf,
  isPlace,
  keysOf,
  rowsOfEvents,
  rowsOfValues,
  rowsOfVisits,
} from './value-rows.ts';

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

const NUMBERS = `x AS name, sum(value_pageviews) AS pageviews, ${VISITORS_OF_VISITS} AS visitors, count() AS visits,
  countIf(visit_pageviews = 1) AS bounces, sum(visit_seconds) AS totaltime`;

/** The five numbers of stats for each value, in the order of getMetrics. */
export async function getExpandedMetrics(
  run: RunQuery,
  question: Question,
  options: MetricOptions,
  from: ReadFrom,
): Promise<Answer<ExpandedMetric[]>> {
  const { type } = options;
  const all = async (rows: (bind: Bind) => string, cut: (bind: Bind) => string = () => '') => {
    const query = buildQuery(
      (bind) =>
        `${cut(bind)} SELECT ${NUMBERS} ${rankedValues(rows(bind), options, bind, type === 'event' ? EVENTS : 'visitors')} ${NO_PROJECTION}`,
    );
    const { rows: value, timing } = await run(query, question, ExpandedMetricRow);
    return { value, timing };
  };
  if (from === 'rollups' && areInVisits(question, type, 'numbers'))
    return all(
      (bind) => rowsOfVisits(question, type, 'numbers', bind),
      (bind) => `WITH ${cutOf(question, type, 'numbers', bind)}`,
    );
  if (from === 'rollups' && areInSingleEvents(question, type)) {
    const ranked = await getMetrics(run, question, options, from);
    const values = [...new Set(ranked.value.map(({ x }) => x))];
    return numbersOf(run, question, options, ranked, values);
  }
  return all((bind) => rowsOfEvents(question, type, bind));
}

/** Of values that are ranked already, which are few of many mostly. */
async function numbersOf(
  run: RunQuery,
  question: Question,
  { type }: MetricOptions,
  ranked: Awaited<ReturnType<typeof getMetrics>>,
  values: readonly string[],
): Promise<Answer<ExpandedMetric[]>> {
  if (values.length === 0) return { value: [], timing: ranked.timing };
  const query = buildQuery(
    (bind) => `
    WITH ${cutVisits(question, bind, [])}
    SELECT ${NUMBERS}${isPlace(type) ? ', x_country AS country' : ''}
    FROM (${rowsOfValues(question, type, values, bind)})
    GROUP BY ${keysOf(type)}`,
  );
  const { rows, timing } = await run(query, question, ExpandedMetricRow);
  const keyOf = (name: string, country = '') => JSON.stringify([name, country]);
  const found = new Map(rows.map((row) => [keyOf(row.name, row.country), row]));
  return {
    value: ranked.value.flatMap(({ x, country }) => found.get(keyOf(x, country)) ?? []),
    timing: oneAfterTheOther([ranked.timing, timing]),
  };
}
