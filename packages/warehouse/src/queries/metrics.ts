import { z } from 'zod';
import { containsText } from '../filters.ts';
import { type Bind, buildQuery } from '../query.ts';
import type { Answer, Question } from '../question.ts';
import type { RunQuery } from '../run-query.ts';
import { oneAfterTheOther } from '../timings.ts';
import { cutVisits, type ReadFrom, visitsOfTwoVisitors } from '../visit-rows.ts';
import { dimensions, type MetricType } from './dimensions.ts';
import { biggestTexts, isOfTexts, nextBiggestText } from './text-candidates.ts';
import {
  areInSingleEvents,
  areInVisits,
  cutOf,
  isPlace,
  rowsOfEvents,
  rowsOfSingleEvents,
  rowsOfVisits,
} from './value-rows.ts';

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

const FoundRow = z.object({ found: z.number() });
const CountRow = z.object({ events: z.number() });

/** The values of a dimension, most first, equal ones in code point order; without the empty value. */
export async function getMetrics(
  run: RunQuery,
  question: Question,
  options: MetricOptions,
  from: ReadFrom,
): Promise<Answer<Metric[]>> {
  const { type } = options;
  if (from === 'rollups' && areInVisits(question, type)) {
    const query = buildQuery(
      (bind) =>
        `WITH ${cutOf(question, type, bind)} SELECT ${ranking(rowsOfVisits(question, type, bind), options, bind)}`,
    );
    const { rows, timing } = await run(query, question, MetricRow);
    return { value: rows, timing };
  }
  if (from === 'rollups' && areInSingleEvents(question, type)) return rankSingleEvents(run, question, options);
  const query = buildQuery((bind) => `SELECT ${ranking(rowsOfEvents(question, type, bind), options, bind)}`);
  const { rows, timing } = await run(query, question, MetricRow);
  return { value: rows, timing };
}

/** So many candidates for each row asked for, first and then if these do not settle it. */
const candidateShares = [2, 20];

/** Most values of a path or title have few events: visitors are counted of those with most events, as long as no other can have more visitors. */
async function rankSingleEvents(run: RunQuery, question: Question, options: MetricOptions): Promise<Answer<Metric[]>> {
  const { type, limit, offset } = options;
  const found = type === 'event' ? undefined : await run(twoVisitorsQuery(question), question, FoundRow);
  const oneVisitorPerVisit = found?.rows.length === 0 || type === 'event';
  const timings = found ? [found.timing] : [];
  const rank = async (among?: (bind: Bind) => string): Promise<Metric[]> => {
    const query = buildQuery((bind) => {
      const rows = rowsOfSingleEvents(question, type, bind, { oneVisitorPerVisit, among: among?.(bind) });
      const cut = oneVisitorPerVisit ? '' : `WITH ${cutVisits(question, bind, null)}`;
      return `${cut} SELECT ${ranking(rows, options, bind)}`;
    });
    const { rows, timing } = await run(query, question, MetricRow);
    timings.push(timing);
    return rows;
  };
  const answer = (value: Metric[]): Answer<Metric[]> => ({ value, timing: oneAfterTheOther(timings) });

  for (const share of isOfTexts(question, type) ? candidateShares : []) {
    const count = 20 + share * (offset + limit);
    const [ranked, next] = await Promise.all([
      rank((bind) => biggestTexts(question, options, count, bind)),
      run(nextBiggestText(question, options, count), question, CountRow),
    ]);
    timings.push(next.timing);
    const most = next.rows[0]?.events;
    const last = ranked.at(-1);
    if (most === undefined || (ranked.length === limit && last && last.y > most)) return answer(ranked);
  }
  return answer(await rank());
}

const twoVisitorsQuery = (question: Question) => buildQuery((bind) => visitsOfTwoVisitors(question, bind));

const rankOf = ({ type }: MetricOptions) => (type === 'event' ? 'sum(value_events)' : 'uniqExact(visitor)');

const ranking = (rows: string, options: MetricOptions, bind: Bind) =>
  `x, ${rankOf(options)} AS y ${rankedValues(rows, options, bind)}`;

/** Everything behind the numbers of a SELECT: one row per value, ranked and cut. */
export function rankedValues(rows: string, options: MetricOptions, bind: Bind): string {
  const { type, limit, offset, search } = options;
  const { finish } = dimensions[type];
  return `${isPlace(type) ? ', x_country AS country' : ''}
    FROM (${finish ? finish(rows) : rows})
    WHERE x != '' ${search ? `AND ${containsText('x', search, bind)}` : ''}
    GROUP BY x, x_country
    ORDER BY ${rankOf(options)} DESC, x, x_country
    LIMIT ${bind(limit, 'UInt64')} OFFSET ${bind(offset, 'UInt64')}`;
}
