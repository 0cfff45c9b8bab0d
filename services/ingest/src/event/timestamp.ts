import { timestampAheadMaxMs, timestampMillisecondsAbove, timestampMinMs } from '@meridian/contract/collect';

const digits = /^\d+$/;

/**
 * Event time in Unix ms from `payload.timestamp` (docs/semantics.md "Timestamps"): whole seconds, above 1e11
 * milliseconds, as a number or as digits, from 2000 to 10 minutes after `nowMs`. Null when absent, NaN when not
 * acceptable.
 */
export function parseTimestamp(value: unknown, nowMs: number): number | null {
  if (value === undefined || value === null) return null;
  const time = typeof value === 'string' && digits.test(value) ? Number(value) : value;
  if (!Number.isInteger(time)) return Number.NaN;
  const timeMs = (time as number) > timestampMillisecondsAbove ? (time as number) : (time as number) * 1_000;
  return timeMs >= timestampMinMs && timeMs <= nowMs + timestampAheadMaxMs ? timeMs : Number.NaN;
}
