import { cohortRangePattern } from '@meridian/contract/segments';
import type { DateRange } from '@meridian/warehouse/question';
import { earliestMs, supportedRange } from './resolve-date-range.ts';
import type { TimeZone } from './time-zone.ts';

const hourMs = 3_600_000;

/**
 * The range in which a cohort's visitors did something: 'all', 'range:<ms>:<ms>' (both belong to it), or so many units
 * of the zone's calendar up to `now`, the running one included: '30day' begins with the day 29 days ago, '1week' with
 * Monday. 0 is read as 1.
 */
export function cohortRange(text: string, zone: TimeZone, now: Date): DateRange {
  const [, from, to, count, unit] = cohortRangePattern.exec(text) ?? [];
  if (from !== undefined) return supportedRange(Number(from), Number(to));
  if (unit === undefined) return supportedRange(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
  return supportedRange(startOf(unit, Math.max(0, Number(count) - 1), now.getTime(), zone), now.getTime());
}

/** Where the unit of the calendar begins that lies `count` units before the one that holds `nowMs`. */
function startOf(unit: string, count: number, nowMs: number, zone: TimeZone): number {
  const localMs = nowMs + zone.offsetMsAt(nowMs);
  if (unit === 'hour') return nowMs - (localMs % hourMs) - count * hourMs;
  const local = new Date(localMs);
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()];
  const sinceMonday = (local.getUTCDay() + 6) % 7;
  const starts: Record<string, number> = {
    day: Date.UTC(year, month, day - count),
    week: Date.UTC(year, month, day - sinceMonday - 7 * count),
    month: Date.UTC(year, month - count, 1),
    year: Date.UTC(year - count, 0, 1),
  };
  return zone.firstInstantAt(Math.max(starts[unit] ?? earliestMs, earliestMs));
}
