import { dateTime } from '../conditions.ts';
import { containsText } from '../filters.ts';
import { type Bind, buildQuery, type Query } from '../query.ts';
import type { Question } from '../question.ts';
import { hasFilters } from '../visit-rows.ts';
import type { MetricType } from './dimensions.ts';

/** Columns whose texts are counted per month in site_texts. */
const columns: Partial<Record<MetricType, { kind: string; column: string }>> = {
  path: { kind: 'path', column: 'url_path' },
  title: { kind: 'title', column: 'page_title' },
};

type Texts = { type: MetricType; search?: string | undefined };

/** Whether site_texts knows values of the type, and nothing makes most of their events unfit. */
export function isOfTexts(question: Question, type: MetricType): boolean {
  return columns[type] !== undefined && question.eventType === undefined && !hasFilters(question);
}

/** Condition on events: those with one of the `count` texts that most events have in the months of the range. */
export function biggestTexts(question: Question, texts: Texts, count: number, bind: Bind): string {
  return `${columns[texts.type]?.column} IN (SELECT text ${bySize(question, texts, bind)} LIMIT ${bind(count, 'UInt64')})`;
}

/** How many `events` the next one behind these has, at least as many as it has in the range; no row if there is no other. */
export function nextBiggestText(question: Question, texts: Texts, count: number): Query {
  return buildQuery(
    (bind) =>
      `SELECT sum(site_texts.events) AS events ${bySize(question, texts, bind)} LIMIT 1 OFFSET ${bind(count, 'UInt64')}`,
  );
}

function bySize(question: Question, { type, search }: Texts, bind: Bind): string {
  const kind = `kind = ${bind(columns[type]?.kind ?? '', 'String')}`;
  const found = search ? ` AND ${containsText('text', search, bind)}` : '';
  return `FROM site_texts WHERE ${textsOfMonths(question, bind)} AND ${kind}${found} GROUP BY text ORDER BY sum(site_texts.events) DESC`;
}

/** Rows of site_texts of the months (UTC) in which the range lies. */
export function textsOfMonths({ websiteId, range }: Question, bind: Bind): string {
  const month = (at: Date) => `toStartOfMonth(${dateTime(at.getTime(), bind)})`;
  return `website_id = ${bind(websiteId, 'UUID')} AND month BETWEEN ${month(range.startAt)} AND ${month(range.endAt)}`;
}
