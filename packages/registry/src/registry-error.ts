import { DrizzleQueryError } from 'drizzle-orm';
import pg from 'pg';

/**
 * A query that failed for a reason that is nobody's input. `unavailable`: Postgres could not be reached or would not
 * serve, and a later try may succeed. `failed`: everything else. The cause is the driver's error; the message holds
 * neither SQL nor values.
 */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  readonly kind: 'unavailable' | 'failed';

  constructor(kind: 'unavailable' | 'failed', message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/**
 * Name of the constraint that `error` reports as violated: unique or primary key (23505), foreign key (23503); else
 * null.
 */
export function violatedConstraint(error: unknown): string | null {
  const cause = driverError(error);
  if (!(cause instanceof pg.DatabaseError)) return null;
  return cause.code === '23505' || cause.code === '23503' ? (cause.constraint ?? null) : null;
}

export function toRegistryError(error: unknown): RegistryError {
  if (error instanceof RegistryError) return error;
  const cause = driverError(error);
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no code';
  const kind = isUnavailable(error, code) ? 'unavailable' : 'failed';
  const message = kind === 'unavailable' ? 'The registry is not available' : 'A registry query failed';
  return new RegistryError(kind, `${message} (${code})`, cause);
}

/** The driver's error without Drizzle's wrapper, whose message carries the SQL and its values. */
function driverError(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error;
}

/** What Postgres itself says in classes 08 (connection), 53 (resources) and 57 (operator); else a lost connection. */
function isUnavailable(error: unknown, code: string): boolean {
  if (driverError(error) instanceof pg.DatabaseError) return /^(08|53|57)/.test(code);
  return error instanceof DrizzleQueryError || /^E[A-Z]+$/.test(code);
}
