import type { Compare } from '@meridian/contract/statistics';
import type { DateRange } from '@meridian/warehouse/question';
import type { TimeZone } from './time-zone.ts';

/** The range that a range is compared with (docs/semantics.md "Comparison"). */
export function comparisonRange(range: DateRange, compare: Compare, zone: TimeZone): DateRange {
  const startMs = range.startAt.getTime();
  const endMs = range.endAt.getTime();
  if (compare === 'prev') return { startAt: new Date(startMs - 1 - (endMs - startMs)), endAt: new Date(startMs - 1) };
  return {
    startAt: new Date(zone.firstInstantAt(yearEarlier(startMs + zone.offsetMsAt(startMs)))),
    endAt: new Date(zone.lastInstantAt(yearEarlier(endMs + zone.offsetMsAt(endMs)))),
  };
}

/** The same local time one calendar year earlier; 29 February becomes the 28th. */
function yearEarlier(localMs: number): number {
  const date = new Date(localMs);
  const isLeapDay = date.getUTCMonth() === 1 && date.getUTCDate() === 29;
  if (isLeapDay) date.setUTCDate(28);
  return date.setUTCFullYear(date.getUTCFullYear() - 1);
}
