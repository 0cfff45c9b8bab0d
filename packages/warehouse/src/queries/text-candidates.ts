import { z } from 'zod';
import { dateTime } from '../conditions.ts';
import { containsText } from '../filters.ts';
import { type Bind, buildQuery } from '../query.ts';
import type { Answer, DateRange, Question } from '../question.ts';
import type { RunQuery } from '../run-query.ts';
import { hasFilters } from '../visit-rows.ts';
import type { MetricType } from './dimensions.ts';

/** Columns whose texts are counted per month in site_texts. */
const columns: Partial<Record<MetricType, { kind: string; column: string }>> = {
  path: { kind: 'path', column: 'url_path' },
  title: { kind: 'title', column: 'page_title' },
};

/** Whether site_texts knows values of the type, and nothing makes most of their events unfit. */
export function isOfTexts(question: Question, type: MetricType): boolean {
  return columns[type] !== undefined && question.eventType === undefined && !hasFilters(question);
}

const TextRow = z.object({ text: z.string(), events: z.number() });

/** `texts`: those with most events in the months of the range, most first; `areAll`: there are no others. */
export type Candidates = {
  texts: z.infer<typeof TextRow>[];
  areAll: boolean;
  /** About so many of them the last one wanted has in the range. */
  expectedEvents: number;
};

const candidatesMax = 2_000;

/** Texts among which the first `wanted` by visitors probably are. */
export async function findCandidates(
  run: RunQuery,
  question: Question,
  { type, search, wanted }: { type: MetricType; search?: string | undefined; wanted: number },
): Promise<Answer<Candidates>> {
  const share = shareOfMonths(question.range);
  const count = Math.min(Math.ceil((20 + 4 * wanted) / share), candidatesMax);
  const query = buildQuery((bind) => {
    const kind = `kind = ${bind(columns[type]?.kind ?? '', 'String')}`;
    const found = search ? ` AND ${containsText('text', search, bind)}` : '';
    return `SELECT text, sum(site_texts.events) AS events FROM site_texts WHERE ${textsOfMonths(question, bind)} AND ${kind}${found}
      GROUP BY text ORDER BY events DESC LIMIT ${bind(count + 1, 'UInt64')}`;
  });
  const { rows, timing } = await run(query, question, TextRow);
  const expectedEvents = (rows[wanted - 1]?.events ?? 0) * share;
  return { value: { texts: rows, areAll: rows.length <= count, expectedEvents }, timing };
}

/** Condition on events: those with one of the texts. */
export function hasText(type: MetricType, texts: readonly string[], bind: Bind): string {
  return `${columns[type]?.column} IN ${bind(texts, 'Array(String)')}`;
}

/** How much of its months (UTC), as far as they have passed, the range is. */
function shareOfMonths({ startAt, endAt }: DateRange): number {
  const fromMs = Date.UTC(startAt.getUTCFullYear(), startAt.getUTCMonth());
  const toMs = Math.min(
    Date.UTC(endAt.getUTCFullYear(), endAt.getUTCMonth() + 1),
    Math.max(Date.now(), endAt.getTime()),
  );
  return Math.max((endAt.getTime() - startAt.getTime()) / (toMs - fromMs), 0.001);
}

/** Rows of site_texts of the months (UTC) in which the range lies. */
export function textsOfMonths({ websiteId, range }: Question, bind: Bind): string {
  const month = (at: Date) => `toStartOfMonth(${dateTime(at.getTime(), bind)})`;
  return `website_id = ${bind(websiteId, 'UUID')} AND month BETWEEN ${month(range.startAt)} AND ${month(range.endAt)}`;
}
