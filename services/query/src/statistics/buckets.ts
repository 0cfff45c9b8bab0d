import type { Unit } from '@meridian/contract/statistics';
import type { DateRange } from '@meridian/warehouse/question';
import type { TimeZone } from './time-zone.ts';

/** More points than this are refused (docs/semantics.md "Series"). */
export const bucketsMax = 10_000;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A bucket lasts until the next one starts. */
export type Bucket = { startMs: number; label: string };

const clockUnitMs = { minute: minuteMs, hour: hourMs };

/**
 * What lasts as long as thousands of these has as many buckets at least: of thousands of days in one zone few have more
 * than 24 hours.
 */
const longestMs: Record<Unit, number> = {
  minute: minuteMs,
  hour: hourMs,
  day: 25 * hourMs,
  month: 31 * dayMs,
  year: 366 * dayMs,
};

type CalendarUnit = { ordinal(localMs: number): number; localMs(n: number): number };

/** Days, months and years counted from an arbitrary one, and the local midnight at which each begins. */
const calendarUnits: Record<'day' | 'month' | 'year', CalendarUnit> = {
  day: { ordinal: (localMs) => Math.floor(localMs / dayMs), localMs: (n) => n * dayMs },
  month: {
    ordinal: (localMs) => new Date(localMs).getUTCFullYear() * 12 + new Date(localMs).getUTCMonth(),
    localMs: (n) => Date.UTC(Math.floor(n / 12), n % 12, 1),
  },
  year: { ordinal: (localMs) => new Date(localMs).getUTCFullYear(), localMs: (n) => Date.UTC(n, 0, 1) },
};

/**
 * The buckets of `unit` on the clock of `zone`, from the one that holds the range's start to the one that holds its
 * end, in order and without gaps; null when there are more than `bucketsMax`.
 */
export function bucketsOf(range: DateRange, unit: Unit, zone: TimeZone): Bucket[] | null {
  const startMs = range.startAt.getTime();
  const endMs = range.endAt.getTime();
  // Each look at a zone's clock costs, and nobody has waited for a turn yet.
  if (endMs - startMs >= bucketsMax * longestMs[unit]) return null;
  const buckets =
    unit === 'minute' || unit === 'hour'
      ? clockBuckets(startMs, endMs, clockUnitMs[unit], zone)
      : calendarBuckets(startMs, endMs, calendarUnits[unit], zone);
  return buckets.length > bucketsMax ? null : buckets;
}

/** The finest unit whose buckets of the range are allowed. */
export function finestUnit(range: DateRange, zone: TimeZone): Unit {
  const units: Unit[] = ['minute', 'hour', 'day', 'month'];
  return units.find((unit) => bucketsOf(range, unit, zone) !== null) ?? 'year';
}

/**
 * Labelled with their start and, as Berlin's 25 October 2026 has 02:00 twice, the offset at that instant; `Z` is for
 * UTC only. Minutes and hours start where the local clock shows a full one, and where the clock is changed: after Lord
 * Howe's half-hour change, the first hour is half an hour long.
 */
function clockBuckets(startMs: number, endMs: number, unitMs: number, zone: TimeZone): Bucket[] {
  const buckets: Bucket[] = [];
  for (const span of zone.spans(startMs - unitMs, endMs)) {
    const offset = zone.isUtc ? 'Z' : offsetLabel(span.offsetMs);
    for (let ms = span.startMs; ms < span.endMs; ms = nextFull(ms, unitMs, span.offsetMs)) {
      if (ms <= startMs) buckets.length = 0;
      buckets.push({ startMs: ms, label: `${timeLabel(ms + span.offsetMs)}${offset}` });
    }
  }
  return buckets;
}

/** The next instant after `ms` at which the local clock shows a full unit. */
function nextFull(ms: number, unitMs: number, offsetMs: number): number {
  return (Math.floor((ms + offsetMs) / unitMs) + 1) * unitMs - offsetMs;
}

/**
 * Days begin at the first instant of their date, at 01:00 where midnight is skipped; a date that is skipped has none.
 */
function calendarBuckets(startMs: number, endMs: number, unit: CalendarUnit, zone: TimeZone): Bucket[] {
  const buckets: Bucket[] = [];
  for (let n = unit.ordinal(startMs + zone.offsetMsAt(startMs)); ; n++) {
    const ms = zone.firstInstantAt(unit.localMs(n));
    if (ms > endMs) break;
    if (ms <= startMs) buckets.length = 0;
    if (ms !== buckets.at(-1)?.startMs) buckets.push({ startMs: ms, label: dateLabel(ms + zone.offsetMsAt(ms)) });
  }
  return buckets;
}

/** '2026-10-25T02:00:00' */
function timeLabel(localMs: number): string {
  return new Date(localMs).toISOString().slice(0, 19);
}

/** '+05:45'; with seconds for clocks of before 1972 that had them. */
function offsetLabel(offsetMs: number): string {
  const time = new Date(Math.abs(offsetMs)).toISOString().slice(11, 19);
  return `${offsetMs < 0 ? '-' : '+'}${time.endsWith(':00') ? time.slice(0, 5) : time}`;
}

/** '2026-06-01' */
function dateLabel(localMs: number): string {
  return new Date(localMs).toISOString().slice(0, 10);
}
