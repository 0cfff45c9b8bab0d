/** What a check found. `advice`: what to do, where something is. */
export type Finding = { status: 'OK'; detail: string } | { status: 'WARN' | 'FAIL'; detail: string; advice: string };

export const ok = (detail: string): Finding => ({ status: 'OK', detail });
export const warn = (detail: string, advice: string): Finding => ({ status: 'WARN', detail, advice });
export const fail = (detail: string, advice: string): Finding => ({ status: 'FAIL', detail, advice });

/** The message of an error, of its cause where it says more, on one line. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError) return [...new Set(error.errors.map(messageOf))].join('; ');
  const text = error.message || ('code' in error ? String(error.code) : error.name);
  const cause = error.cause instanceof Error ? messageOf(error.cause) : '';
  return (text.includes(cause) ? text : `${text}: ${cause}`).replace(/\s+/g, ' ').trim();
}
