import postgres from 'postgres';

/**
 * A query that failed for a reason that is nobody's input. `unavailable`: Postgres could not be reached or would not
 * serve, and a later try may succeed. `failed`: everything else. The cause is the driver's error; the message holds
 * neither SQL nor values.
 */
export class RegistryError extends Error {
  readonly kind: 'unavailable' | 'failed';

  constructor(kind: 'unavailable' | 'failed', message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'RegistryError';
    this.kind = kind;
  }
}

/** The driver's error without Drizzle's wrapper, whose message would carry the SQL and its values. */
function driverError(error: unknown): unknown {
  return error instanceof Error && error.name !== 'PostgresError' && error.cause !== undefined ? error.cause : error;
}

/** Name of the constraint that `error` reports as violated: unique or primary key (23505), foreign key (23503); else null. */
export function violatedConstraint(error: unknown): string | null {
  const cause = driverError(error);
  if (!(cause instanceof postgres.PostgresError)) return null;
  return cause.code === '23505' || cause.code === '23503' ? (cause.constraint_name ?? null) : null;
}

export function toRegistryError(error: unknown): RegistryError {
  if (error instanceof RegistryError) return error;
  const cause = driverError(error);
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return isUnavailable(code)
    ? new RegistryError('unavailable', `The registry is not available (${code})`, cause)
    : new RegistryError('failed', `A registry query failed (${code || 'no code'})`, cause);
}

/** Classes 08 (connection), 53 (resources) and 57 (operator intervention), the driver's own and the system's network codes. */
function isUnavailable(code: string): boolean {
  return (
    /^(08|53|57)/.test(code) ||
    /^(CONNECTION_|CONNECT_TIMEOUT$|ECONN|EPIPE$|ETIMEDOUT$|EHOSTUNREACH$|ENOTFOUND$|ENOENT$)/.test(code)
  );
}
