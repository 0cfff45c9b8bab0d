import type { Compare } from '@meridian/contract/statistics';
import type { DateRange } from '@meridian/warehouse/question';
import type { TimeZone } from './time-zone.ts';

/** The range that a range is compared with (docs/semantics.md "Comparison"). */
export function comparisonRange(range: DateRange, compare: Compare, zone: TimeZone): DateRange {
  const startMs = range.startAt.getTime();
  const endMs = range.endAt.getTime();
  if (compare === 'prev') return { startAt: new Date(startMs - 1 - (endMs - startMs)), endAt: new Date(startMs - 1) };
  const earlierStartMs = zone.firstInstantAt(yearEarlier(startMs + zone.offsetMsAt(startMs)));
  const earlierEndMs = zone.lastInstantAt(yearEarlier(endMs + zone.offsetMsAt(endMs)));
  // Of 20 minutes in the hour that a clock shows twice, the end may show an earlier time than the start.
  const isInOrder = earlierStartMs <= earlierEndMs;
  return {
    startAt: new Date(earlierStartMs),
    endAt: new Date(isInOrder ? earlierEndMs : earlierStartMs + (endMs - startMs)),
  };
}

/** The same local time one calendar year earlier; 29 February becomes the 28th. */
function yearEarlier(localMs: number): number {
  const date = new Date(localMs);
  const isLeapDay = date.getUTCMonth() === 1 && date.getUTCDate() === 29;
  if (isLeapDay) date.setUTCDate(28);
  return date.setUTCFullYear(date.getUTCFullYear() - 1);
}
