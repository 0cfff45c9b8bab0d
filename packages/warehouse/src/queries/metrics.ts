import { z } from 'zod';
import { NO_PROJECTION, VISITORS_OF_VISITS } from '../conditions.ts';
import { containsText, equalsExactly } from '../filters.ts';
import { type Bind, buildQuery } from '../query.ts';
import type { Answer, Question } from '../question.ts';
import type { ReadFrom } from '../read-from.ts';
import type { RunQuery } from '../run-query.ts';
import { oneAfterTheOther, sideBySide } from '../timings.ts';
import { cutVisits, hasFilters, visitsOfTwoVisitors } from '../visit-rows.ts';
import { dimensions, type MetricType } from './dimensions.ts';
import { type Candidates, findCandidates, hasCandidates } from './text-candidates.ts';
import {
  areInSingleEvents,
  areInVisits,
  cutOf,
  isPlace,
  keysOf,
  rowsOfSingleEvents,
  rowsOfVisits,
  rowsToRank,
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

/** The values of a dimension, most first, equal ones in code point order; without the empty value. */
export async function getMetrics(
  run: RunQuery,
  question: Question,
  options: MetricOptions,
  from: ReadFrom,
): Promise<Answer<Metric[]>> {
  const { type } = options;
  if (from === 'rollups' && areInVisits(question, type, 'visitors')) {
    const query = buildQuery(
      (bind) =>
        `WITH ${cutOf(question, type, 'visitors', bind)} SELECT ${ranking(VISITORS_OF_VISITS, rowsOfVisits(question, type, 'visitors', bind), options, bind)} ${NO_PROJECTION}`,
    );
    const { rows, timing } = await run(query, question, MetricRow);
    return { value: rows, timing };
  }
  // Events of a type lie together in the projection, and nothing of rollups is needed to count them.
  if ((from === 'rollups' || type === 'event') && areInSingleEvents(question, type))
    return rankSingleEvents(run, question, options);
  const query = buildQuery(
    (bind) => `SELECT ${ranking(rankOfEvents(type), rowsToRank(question, type, bind), options, bind)} ${NO_PROJECTION}`,
  );
  const { rows, timing } = await run(query, question, MetricRow);
  return { value: rows, timing };
}

/**
 * Most values of a path or title have few events: visitors are counted of those with most events, as long as no other
 * can have more visitors. If one can, then once more of all that have at least as many events as the last one has
 * visitors.
 */
async function rankSingleEvents(run: RunQuery, question: Question, options: MetricOptions): Promise<Answer<Metric[]>> {
  const { type, limit, offset, search } = options;
  const [found, candidates] = await Promise.all([
    type === 'event' ? undefined : run(twoVisitorsQuery(question), question, FoundRow),
    hasCandidates(question, type) ? findCandidates(run, question, { type, search, wanted: offset + limit }) : undefined,
  ]);
  const oneVisitorPerVisit = !found || found.rows.length === 0;
  const timings = [sideBySide([found, candidates].flatMap((look) => (look ? [look.timing] : [])))];
  const rank = async (among?: (bind: Bind) => string): Promise<Metric[]> => {
    const query = buildQuery((bind) => {
      const rows = rowsOfSingleEvents(question, type, bind, { oneVisitorPerVisit, among: among?.(bind) });
      const cut = oneVisitorPerVisit ? '' : `WITH ${cutVisits(question, bind, [])}`;
      return `${cut} SELECT ${ranking(rankOfEvents(type), rows, options, bind)} ${isInProjection(type) || hasFilters(question) ? '' : NO_PROJECTION}`;
    });
    const { rows, timing } = await run(query, question, MetricRow);
    timings.push(timing);
    return rows;
  };
  const answer = (value: Metric[]): Answer<Metric[]> => ({ value, timing: oneAfterTheOther(timings) });

  /**
   * Of texts with at least so many events; undefined if there may be others of that kind. `isSettled`: no other can
   * have as many visitors.
   */
  const rankAmong = async ({ texts, areAll }: Candidates, atLeast: number) => {
    const named = texts.filter(({ events }) => events >= atLeast).map(({ text }) => text);
    if (named.length === texts.length && !areAll) return undefined;
    const ranked = await rank((bind) => equalsExactly(dimensions[type].value, named, bind));
    const fewest = ranked.length === limit ? (ranked.at(-1)?.y ?? 0) : 0;
    return { ranked, fewest, isSettled: fewest > (texts[named.length]?.events ?? -1) };
  };

  if (candidates) {
    const first = await rankAmong(candidates.value, candidates.value.expectedEvents);
    const settled = first?.isSettled === false ? await rankAmong(candidates.value, first.fewest) : first;
    if (settled) return answer(settled.ranked);
  }
  return answer(await rank());
}

/** Whether the projection by path has the value of its events. */
const isInProjection = (type: MetricType) => type === 'path' || type === 'event';

const twoVisitorsQuery = (question: Question) => buildQuery((bind) => visitsOfTwoVisitors(question, bind));

/** What values are ranked by where `event` is the type. */
export const EVENTS = 'sum(value_events)';

const rankOfEvents = (type: MetricType) => (type === 'event' ? EVENTS : 'uniqExact(visitor)');

const ranking = (rank: string, rows: string, options: MetricOptions, bind: Bind) =>
  `x, ${rank} AS y ${rankedValues(rows, options, bind, 'y')}`;

/** Everything behind the numbers of a SELECT: one row per value, ranked by `rank` and cut. */
export function rankedValues(rows: string, options: MetricOptions, bind: Bind, rank: string): string {
  const { type, limit, offset, search } = options;
  const { finish } = dimensions[type];
  const keys = keysOf(type);
  return `${isPlace(type) ? ', x_country AS country' : ''}
    FROM (${finish ? finish(rows) : rows})
    WHERE x != '' ${search ? `AND ${containsText('x', search, bind)}` : ''}
    GROUP BY ${keys}
    ORDER BY ${rank} DESC, ${keys}
    LIMIT ${bind(limit, 'UInt64')} OFFSET ${bind(offset, 'UInt64')}`;
}
