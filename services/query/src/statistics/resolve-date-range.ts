import type { RangeQuery } from '@meridian/contract/statistics';
import type { DateRange } from '@meridian/warehouse/question';
import { badRequest, refusedValue } from '../http/bad-request.ts';
import type { TimeZone } from './time-zone.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * What the stores can hold are the years 1900 to 2299; events are accepted from 2000 on, so that nothing stored lies
 * outside. Unix ms.
 */
export const earliestMs = Date.UTC(1900, 0, 1);
const latestMs = Date.UTC(2300, 0, 1) - 1;

type Bounds = Omit<RangeQuery, 'timezone'>;

/**
 * The range that a query names (docs/semantics.md "Ranges"): startAt and endAt win over startDate and endDate, bound by
 * bound. Without bounds the 24 hours before `now`; with one, the other is `now`, or 24 hours before. What lies outside
 * of the supported years is moved to their nearest instant.
 * @throws ApiError 400 that names the bound
 */
export function resolveDateRange(bounds: Bounds, zone: TimeZone, now: Date): DateRange {
  const endMs = boundOf('end', bounds, zone) ?? now.getTime();
  const startMs = boundOf('start', bounds, zone) ?? endMs - dayMs;
  const startName = nameOf('start', bounds);
  if (startName && startMs > endMs) throw refusedValue(startName, 'The range starts after its end.');
  return supportedRange(startMs, endMs);
}

/** The range between two instants, in Unix ms, that may be further away than a Date can hold. */
export function supportedRange(startMs: number, endMs: number): DateRange {
  return { startAt: nearestSupported(startMs), endAt: nearestSupported(endMs) };
}

function nearestSupported(ms: number): Date {
  return new Date(Math.min(Math.max(ms, earliestMs), latestMs));
}

function boundOf(edge: 'start' | 'end', bounds: Bounds, zone: TimeZone): number | undefined {
  const name = nameOf(edge, bounds);
  if (name === undefined) return undefined;
  const ms = bounds[`${edge}At`] ?? parseDate(bounds[`${edge}Date`] ?? '', edge, zone);
  if (Number.isNaN(ms)) throw badRequest(name, 'must be an ISO 8601 date or datetime');
  return ms;
}

/** The parameter that decides about the bound; undefined when none was given. */
function nameOf(edge: 'start' | 'end', bounds: Bounds): keyof Bounds | undefined {
  return ([`${edge}At`, `${edge}Date`] as const).find((name) => bounds[name] !== undefined);
}

const isoDate =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?)?$/i;

/**
 * An ISO 8601 date or datetime as an instant, NaN when it is none. A bare date is the first millisecond of that day in
 * `zone` or, at the end of a range, the last; a datetime without offset is read on the zone's clock, the first time it
 * is shown or, at the end of a range, the last.
 */
function parseDate(text: string, edge: 'start' | 'end', zone: TimeZone): number {
  const [, year, month, day, hour, minute, second = 0, fraction = '', sign, offsetHour, offsetMinute = 0] =
    isoDate.exec(text) ?? [];
  // Date.UTC takes the year 1 for 1901.
  const dateMs = new Date(0).setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  // 30 February is taken for 2 March.
  if (Number.isNaN(dateMs) || new Date(dateMs).toISOString().slice(0, 10) !== text.slice(0, 10)) return Number.NaN;
  if (hour === undefined)
    return edge === 'start' ? zone.firstInstantAt(dateMs) : zone.firstInstantAt(dateMs + dayMs) - 1;
  if (Number(minute) > 59 || Number(second) > 59 || Number(offsetHour) > 23 || Number(offsetMinute) > 59)
    return Number.NaN;
  const ms = Number(fraction.padEnd(3, '0').slice(0, 3));
  const timeMs = Number(hour) * hourMs + Number(minute) * minuteMs + Number(second) * 1_000 + ms;
  // 24:00 is the midnight at which a day ends.
  if (timeMs > dayMs) return Number.NaN;
  const localMs = dateMs + timeMs;
  if (/z$/i.test(text)) return localMs;
  if (sign === undefined) return edge === 'start' ? zone.firstInstantAt(localMs) : zone.lastInstantAt(localMs);
  const offsetMs = Number(offsetHour) * hourMs + Number(offsetMinute) * minuteMs;
  return sign === '+' ? localMs - offsetMs : localMs + offsetMs;
}
