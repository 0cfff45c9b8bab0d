import { z } from 'zod';
import { dateTime } from '../conditions.ts';
import { containsText } from '../filters.ts';
import { fitsParameter } from '../parameter-text.ts';
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

/** `nextEvents`: no other text has more events in the range; undefined if there is no other. */
export type Candidates = { texts: string[]; nextEvents: number | undefined };

const candidatesMax = 2_000;

/**
 * The texts that most events have in the months of the range: so many that the first `wanted` by visitors are probably among them, as they are if
 * the range is like its months and their texts are seen at most twice by a visitor.
 */
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
  const enough = ((rows[wanted - 1]?.events ?? 0) * share) / 2;
  const tooFew = rows.findIndex(({ events }, index) => index >= wanted && events < enough);
  const texts = rows.slice(0, tooFew < 0 ? count : Math.min(tooFew, count)).map(({ text }) => text);
  while (!fitsParameter(texts)) texts.length = Math.floor(texts.length / 2);
  return { value: { texts, nextEvents: rows[texts.length]?.events }, timing };
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
