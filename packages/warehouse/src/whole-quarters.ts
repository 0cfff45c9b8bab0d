import { dateTime, instant } from './conditions.ts';
import type { Bind } from './query.ts';
import type { Question } from './question.ts';

/** The step of site_15m: it divides every offset from UTC that a zone has had since 1972. */
export const quarterMs = 900_000;
const lastQuarterMs = 4_294_967_295_000 - (4_294_967_295_000 % quarterMs);

/** Rows of site_15m whose quarters lie inside the range. */
export function wholeQuarters(question: Question, bind: Bind): string {
  const { fromMs, toMs } = bounds(question);
  return `website_id = ${bind(question.websiteId, 'UUID')} AND bucket >= ${dateTime(fromMs, bind)} AND bucket < ${dateTime(toMs, bind)}`;
}

/**
 * Events of the range that lie in no whole quarter; undefined where none can, as in ranges of whole days: not to look
 * saves a quarter of a page of the log.
 */
export function outsideWholeQuarters(question: Question, bind: Bind): string | undefined {
  const { fromMs, toMs } = bounds(question);
  if (question.range.startAt.getTime() === fromMs && question.range.endAt.getTime() + 1 === toMs) return undefined;
  return `(created_at < ${instant(new Date(fromMs), bind)} OR created_at >= ${instant(new Date(toMs), bind)})`;
}

/** When (Unix ms) the end of the range begins in which an event outside of its whole quarters lies. */
export function startOfEnd(question: Question, bind: Bind): string {
  const [startMs, toMs] = [question.range.startAt.getTime(), bounds(question).toMs];
  return `if(created_at >= ${instant(new Date(toMs), bind)}, ${bind(toMs, 'Int64')}, ${bind(startMs, 'Int64')})`;
}

/** Where the whole quarters of the range begin and end; at the same instant if there are none. */
function bounds({ range }: Question): { fromMs: number; toMs: number } {
  const clamp = (ms: number) => Math.min(Math.max(ms, 0), lastQuarterMs);
  const fromMs = clamp(Math.ceil(range.startAt.getTime() / quarterMs) * quarterMs);
  const toMs = clamp(Math.floor((range.endAt.getTime() + 1) / quarterMs) * quarterMs);
  return { fromMs, toMs: Math.max(fromMs, toMs) };
}
