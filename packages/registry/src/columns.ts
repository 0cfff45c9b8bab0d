import { type AnyColumn, type SQL, sql } from 'drizzle-orm';
import { customType } from 'drizzle-orm/pg-core';

/** Text without NUL, which Postgres can store neither in text nor in jsonb. */
export function withoutNul(text: string): string {
  return text.replaceAll('\0', '');
}

/** `text`; NUL is removed from whatever is written or compared. */
export const text = customType<{ data: string; driverData: string }>({
  dataType: () => 'text',
  toDriver: withoutNul,
});

/** `bytea`, for hashes. */
export const bytes = customType<{ data: Buffer; driverData: Buffer }>({
  dataType: () => 'bytea',
});

/** `timestamptz` in the precision of a JavaScript Date, so that what is read equals what was written. */
export const instant = customType<{ data: Date; driverData: string }>({
  dataType: () => 'timestamp (3) with time zone',
  // Trap: JavaScript writes years from 10000 on as +010000, which Postgres cannot read.
  toDriver: (at) => at.toISOString().replace(/^\+0?/, ''),
  fromDriver: (stored) => new Date(stored),
});

/**
 * `jsonb`, which refuses NUL and lone surrogates: the former is removed from every value inside, the latter become
 * U+FFFD. Its keys must have neither.
 */
export const json = customType<{ data: Record<string, unknown>; driverData: unknown }>({
  dataType: () => 'jsonb',
  toDriver: (value) =>
    JSON.stringify(value, (_key, inner) => (typeof inner === 'string' ? withoutNul(inner).toWellFormed() : inner)),
});

/** Now, and in any case later than the column says: for `updated_at`, which moves with every update. */
export function laterThan(column: AnyColumn): SQL {
  return sql`greatest(now(), ${column} + interval '1 millisecond')`;
}
