import { z } from 'zod';
import { dateTime } from '../conditions.ts';
import { containsText } from '../filters.ts';
import { type Bind, buildQuery } from '../query.ts';
import type { Answer, DateRange, Question } from '../question.ts';
import type { RunQuery } from '../run-query.ts';
import { hasFilters } from '../visit-rows.ts';
import type { MetricType } from './dimensions.ts';

/** Columns whose texts are counted per month in site_texts, by their `kind` there. */
export const columnOfKind = { path: 'url_path', title: 'page_title', event: 'event_name' } as const;
type RankedText = 'path' | 'title';

/**
 * Whether candidates are found for a ranking of the type: site_texts knows its values, and nothing makes most of their
 * events unfit.
 */
export function hasCandidates(question: Question, type: MetricType): type is RankedText {
  return (type === 'path' || type === 'title') && question.eventType === undefined && !hasFilters(question);
}

const TextRow = z.object({ text: z.string(), events: z.number() });

/** `texts`: those with most events in the months of the range, most first; `areAll`: there are no others. */
export type Candidates = {
  texts: z.infer<typeof TextRow>[];
  areAll: boolean;
  /** How many events the last one wanted has in the range, if the range is like its months. */
  expectedEvents: number;
};

const candidatesMax = 2_000;

/** Texts among which the first `wanted` by visitors probably are. */
export async function findCandidates(
  run: RunQuery,
  question: Question,
  { type, search, wanted }: { type: RankedText; search?: string | undefined; wanted: number },
): Promise<Answer<Candidates>> {
  const share = shareOfMonths(question.range);
  // In a part of its months their order may be another: the smaller the part, the more are looked at.
  const count = Math.min(Math.ceil((20 + 4 * wanted) / share), candidatesMax);
  const query = buildQuery((bind) => {
    const kind = `kind = ${bind(type, 'String')}`;
    const found = search ? ` AND ${containsText('text', search, bind)}` : '';
    return `SELECT text, sum(site_texts.events) AS events FROM site_texts WHERE ${textsOfMonths(question, bind)} AND ${kind}${found}
      GROUP BY text ORDER BY events DESC LIMIT ${bind(count + 1, 'UInt64')}`;
  });
  const { rows, timing } = await run(query, question, TextRow);
  const expectedEvents = (rows[wanted - 1]?.events ?? 0) * share;
  return { value: { texts: rows, areAll: rows.length <= count, expectedEvents }, timing };
}

/** How much of the time from the beginning of its first month (UTC) to its own end the range is. */
function shareOfMonths({ startAt, endAt }: DateRange): number {
  const monthMs = Date.UTC(startAt.getUTCFullYear(), startAt.getUTCMonth());
  return (endAt.getTime() - startAt.getTime() + 1) / (endAt.getTime() - monthMs + 1);
}

/** Rows of site_texts of the months (UTC) in which the range lies. */
export function textsOfMonths({ websiteId, range }: Question, bind: Bind): string {
  const month = (at: Date) => `toStartOfMonth(${dateTime(at.getTime(), bind)})`;
  return `website_id = ${bind(websiteId, 'UUID')} AND month BETWEEN ${month(range.startAt)} AND ${month(range.endAt)}`;
}
