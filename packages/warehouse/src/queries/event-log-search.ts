import { z } from 'zod';
import { projectionFor } from '../conditions.ts';
import { containsText } from '../filters.ts';
import { type Bind, buildQuery, type Query } from '../query.ts';
import type { Answer } from '../question.ts';
import type { RunQuery } from '../run-query.ts';
import { oneAfterTheOther } from '../timings.ts';
import {
  type CountedPage,
  CountRow,
  eventLogQuery,
  type FoundTexts,
  type LogPage,
  LogRow,
  type LogScope,
  logCondition,
} from './event-log-rows.ts';
import { textsOfMonths } from './text-candidates.ts';

/**
 * Looks through the range once if the text is rare: of what is found a page is then read at its instants. A page of a
 * frequent text is full long before the range ends.
 */
export async function searchPage(run: RunQuery, searched: LogScope, page: LogPage): Promise<Answer<CountedPage>> {
  const { question } = searched;
  const looked = areTextsKnown(searched) ? await run(textsQuery(searched), question, TextsRow) : undefined;
  if (looked?.rows.length === 0) return { value: { rows: [], total: 0 }, timing: looked.timing };
  const scope = looked ? { ...searched, texts: foundTexts(looked.rows) } : searched;
  const counted = await run(foundQuery(scope), question, FoundRow);
  const { total, times } = counted.rows[0] ?? { total: 0, times: [] };
  const timings = looked ? [looked.timing, counted.timing] : [counted.timing];
  const query = total > times.length ? eventLogQuery(scope, page) : instantsQuery(scope, page, times);
  if (!query) return { value: { rows: [], total }, timing: oneAfterTheOther(timings) };
  const { rows, timing } = await run(query, question, LogRow);
  return { value: { rows, total }, timing: oneAfterTheOther([...timings, timing]) };
}

/** What a page holds, of the events found at these instants (Unix ms); undefined if that is nothing. */
function instantsQuery(scope: LogScope, page: LogPage, found: readonly number[]): Query | undefined {
  const times = found.toSorted((a, b) => b - a);
  if ('cursor' in page) {
    const { createdAtMs } = page.cursor;
    const older = times.filter((ms) => ms <= createdAtMs);
    const equal = older.filter((ms) => ms === createdAtMs).length;
    return eventLogQuery(scope, page, isAtOneOf(older.slice(0, page.limit + equal)));
  }
  const { offset, limit } = page;
  const newestMs = times[offset];
  if (newestMs === undefined) return undefined;
  const begin = times.indexOf(newestMs);
  return eventLogQuery(scope, { limit, offset: offset - begin }, isAtOneOf(times.slice(begin, offset + limit)));
}

const isAtOneOf = (times: readonly number[]) => (bind: Bind) =>
  `created_at IN (SELECT arrayJoin(arrayMap(ms -> fromUnixTimestamp64Milli(ms, 'UTC'), ${bind(times, 'Array(Int64)')})))`;

/** So many events found are read by their instants. */
const foundMax = 1_000;
const FoundRow = CountRow.extend({ times: z.array(z.number()) });

/**
 * Asks for instants and not for ids, which the projection by path has not: so a text that only paths hold is looked up
 * there.
 */
function foundQuery(scope: LogScope): Query {
  return buildQuery(
    (bind) =>
      `SELECT count() AS total, groupArray(${foundMax})(toUnixTimestamp64Milli(created_at)) AS times FROM events WHERE ${logCondition(scope, bind)} ${projectionFor(scope.from)}`,
  );
}

/**
 * Whether site_texts has all texts that are searched through, far fewer than there are events: none of performance
 * events, and while a reset removes events it is made anew.
 */
const areTextsKnown = ({ question, from }: LogScope): boolean =>
  from === 'rollups' && question.eventType !== 5 && !question.collectedSince;

const TextsRow = z.object({ kind: z.string(), count: z.number(), texts: z.array(z.string()) });
const textsMax = 1_000;

function textsQuery({ question, search }: LogScope): Query {
  return buildQuery(
    (bind) => `SELECT kind, count() AS count, groupArray(${textsMax})(text) AS texts
      FROM (SELECT DISTINCT kind, text FROM site_texts WHERE ${textsOfMonths(question, bind)} AND ${containsText('text', search, bind)})
      GROUP BY kind`,
  );
}

const foundTexts = (rows: readonly z.infer<typeof TextsRow>[]): FoundTexts =>
  new Map(rows.map(({ kind, count, texts }) => [kind, count === texts.length ? texts : 'many']));
