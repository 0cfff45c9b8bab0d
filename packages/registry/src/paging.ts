import { type AnyColumn, asc, desc, or, type SQL, sql } from 'drizzle-orm';
import { withoutNul } from './columns.ts';
import type { Page, PageRequest } from './rows.ts';

/** The letter-case and sorting rules of ICU's root locale, whatever locale the database was made with. */
const anyLanguage = sql.raw('collate "und-x-icu"');

/** Condition: one of `columns` contains `search` in any letter case; no character means anything but itself. */
export function contains(columns: AnyColumn[], search: string | undefined): SQL | undefined {
  if (!search) return undefined;
  const wanted = sql`lower(${withoutNul(search)}::text ${anyLanguage})`;
  return or(...columns.map((column) => sql`strpos(lower(${column} ${anyLanguage}), ${wanted}) > 0`));
}

/**
 * Sort expressions: by `column` (text as people sort it, else as it is), equal values by `id`, so that pages are
 * stable.
 */
export function sortedBy(column: AnyColumn, id: AnyColumn, descending = false): SQL[] {
  const direction = descending ? desc : asc;
  const isText = column.getSQLType() === 'text';
  return [direction(isText ? sql`${column} ${anyLanguage}` : column), direction(id)];
}

/** Asks for one page and for the number of all rows, neither beyond `maxResults`. */
export async function pageOf<Row>(
  request: PageRequest,
  ask: { count: () => PromiseLike<number>; rows: (limit: number, offset: number) => PromiseLike<Row[]> },
): Promise<Page<Row>> {
  const { page, pageSize, maxResults = Number.MAX_SAFE_INTEGER } = request;
  const offset = (page - 1) * pageSize;
  const limit = Math.min(pageSize, maxResults - offset);
  const [total, rows] = await Promise.all([ask.count(), limit > 0 ? ask.rows(limit, offset) : []]);
  return { rows, count: Math.min(total, maxResults) };
}
