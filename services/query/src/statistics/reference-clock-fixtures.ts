import type { Unit } from '@meridian/contract/statistics';
import type { DateRange } from '@meridian/warehouse/question';

const minuteMs = 60_000;
const quarterMs = 15 * minuteMs;
const dayMs = 96 * quarterMs;

/**
 * Longer than any bucket of the unit: so much earlier than a range one begins to look for the bucket that holds its
 * start.
 */
const lookBackMs = { minute: quarterMs, hour: 12 * quarterMs, day: 3 * dayMs, month: 34 * dayMs, year: 368 * dayMs };

/** Of '2026-10-25T02:00': so much of it is the same within the unit. */
const digits = { minute: 16, hour: 13, day: 10, month: 7, year: 4 };

const namesOfUtc = /^(etc\/)?(utc|gmt|uct|zulu|greenwich|universal|gmt[+-]?0)$/i;

/**
 * For tests: the clock of a zone, read off Intl quarter of an hour by quarter of an hour, and minute by minute where it
 * is changed; written from docs/semantics.md "Series" and "Comparison" and not from time-zone.ts. Slow and plain; right
 * since 1972, when the last clock stopped to differ from UTC by other steps than quarters of an hour.
 */
export function createReferenceClock(timeZone: string) {
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, calendar: 'gregory', hourCycle: 'h23' },
    ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' },
  });
  const read = new Map<number, string>();

  /** What the clock shows in the minute that holds the instant: '2026-10-25T02:00'. */
  function localMinute(ms: number): string {
    const minute = Math.floor(ms / minuteMs);
    const known = read.get(minute);
    if (known !== undefined) return known;
    const part = Object.fromEntries(format.formatToParts(minute * minuteMs).map(({ type, value }) => [type, value]));
    const text = `${part.year}-${part.month}-${part.day}T${part.hour}:${part.minute}`;
    read.set(minute, text);
    return text;
  }

  /** '+05:45' */
  function offset(ms: number): string {
    const minutes = (Date.parse(`${localMinute(ms)}Z`) - Math.floor(ms / minuteMs) * minuteMs) / minuteMs;
    const two = (n: number) => String(n).padStart(2, '0');
    return `${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  }

  /**
   * All instants at which a bucket can begin: every full quarter, and every minute of those in which the clock is
   * changed.
   */
  function* instants(fromMs: number, toMs: number, unit: Unit): Generator<number> {
    for (let ms = Math.floor(fromMs / quarterMs) * quarterMs; ms <= toMs; ms += quarterMs) {
      const isEven = unit !== 'minute' && offset(ms) === offset(ms + quarterMs);
      for (let minute = 0; minute < (isEven ? 1 : 15); minute++) yield ms + minute * minuteMs;
    }
  }

  return {
    localMinute,

    /** The buckets from the one that holds the start of the range to the one that holds its end. */
    bucketsOf({ startAt, endAt }: DateRange, unit: Unit): { startMs: number; label: string }[] {
      const [startMs, endMs] = [startAt.getTime(), endAt.getTime()];
      const isClock = unit === 'minute' || unit === 'hour';
      const starts: number[] = [];
      let current = '';
      for (const ms of instants(startMs - lookBackMs[unit], endMs, unit)) {
        const shown = localMinute(ms).slice(0, digits[unit]);
        // A date to which the clock is set back is still the day that has begun.
        const key = isClock ? shown + offset(ms) : shown > current ? shown : current;
        if (key === current || ms > endMs) continue;
        if (ms <= startMs) starts.length = 0;
        starts.push(ms);
        current = key;
      }
      const zone = (ms: number) => (namesOfUtc.test(timeZone) ? 'Z' : offset(ms));
      return starts.map((ms) => ({
        startMs: ms,
        label: isClock ? `${localMinute(ms)}:00${zone(ms)}` : localMinute(ms).slice(0, 10),
      }));
    },

    /** The first instant at which the clock shows that minute and `restMs` more, or has jumped over it. */
    firstInstant(minute: string, restMs = 0): number {
      let ms = Date.parse(`${minute}Z`) - 26 * 60 * minuteMs;
      while (localMinute(ms) < minute) ms += minuteMs;
      return localMinute(ms) === minute ? ms + restMs : ms;
    },

    /** The last instant at which the clock shows that minute and `restMs` more, or is about to jump over it. */
    lastInstant(minute: string, restMs = 0): number {
      let ms = Date.parse(`${minute}Z`) + 26 * 60 * minuteMs;
      while (localMinute(ms) > minute) ms -= minuteMs;
      return localMinute(ms) === minute ? ms + restMs : ms + minuteMs - 1;
    },
  };
}

export type ReferenceClock = ReturnType<typeof createReferenceClock>;

/** '2026-06-10' -> '2026-06-11' */
export function nextDate(date: string): string {
  return new Date(Date.parse(`${date}T00:00Z`) + dayMs).toISOString().slice(0, 10);
}

/** The range that a question is compared with. */
export function referenceComparison(
  { startAt, endAt }: DateRange,
  compare: 'prev' | 'yoy',
  clock: ReferenceClock,
): DateRange {
  const [startMs, endMs] = [startAt.getTime(), endAt.getTime()];
  if (compare === 'prev') return { startAt: new Date(startMs - 1 - (endMs - startMs)), endAt: new Date(startMs - 1) };
  const yearEarlier = (ms: number) => {
    const local = clock.localMinute(ms);
    return `${Number(local.slice(0, 4)) - 1}${local.slice(4)}`.replace('-02-29', '-02-28');
  };
  const earlierStartMs = clock.firstInstant(yearEarlier(startMs), startMs % minuteMs);
  const earlierEndMs = clock.lastInstant(yearEarlier(endMs), endMs % minuteMs);
  const isReversed = earlierEndMs < earlierStartMs; // docs/semantics.md "Comparison"
  return {
    startAt: new Date(earlierStartMs),
    endAt: new Date(isReversed ? earlierStartMs + (endMs - startMs) : earlierEndMs),
  };
}
