import type { RangeQuery } from '@meridian/contract/statistics';
import type { DateRange } from '@meridian/warehouse/question';
import { badRequest, refusedValue } from '../http/bad-request.ts';
import type { TimeZone } from './time-zone.ts';

const dayMs = 86_400_000;

/**
 * Bounds that the stores and the calendar can hold; events are accepted from 2000 on, so that nothing stored lies
 * outside. Unix ms.
 */
export const earliestMs = Date.UTC(1970, 0, 1);
export const latestMs = Date.UTC(2200, 0, 1);

type Bounds = Omit<RangeQuery, 'timezone'>;

/**
 * The range that a query names (docs/semantics.md "Ranges"): startAt and endAt win over startDate and endDate, bound by
 * bound. Without bounds the 24 hours before `now`; with one, the other is `now`, or 24 hours before.
 * @throws ApiError 400 that names the bound
 */
export function resolveDateRange(bounds: Bounds, zone: TimeZone, now: Date): DateRange {
  const endMs = boundOf('end', bounds, zone) ?? now.getTime();
  const startMs = boundOf('start', bounds, zone) ?? endMs - dayMs;
  const startName = nameOf('start', bounds);
  if (startName && startMs > endMs) throw refusedValue(startName, 'The range starts after its end.');
  return { startAt: new Date(startMs), endAt: new Date(endMs) };
}

function boundOf(edge: 'start' | 'end', bounds: Bounds, zone: TimeZone): number | undefined {
  const name = nameOf(edge, bounds);
  if (name === undefined) return undefined;
  const ms = bounds[`${edge}At`] ?? parseDate(bounds[`${edge}Date`] ?? '', edge, zone);
  if (Number.isNaN(ms)) throw badRequest(name, 'must be an ISO 8601 date or datetime');
  if (ms < earliestMs || ms > latestMs) throw badRequest(name, 'must lie between 1970 and 2200');
  return ms;
}

/** The parameter that decides about the bound; undefined when none was given. */
function nameOf(edge: 'start' | 'end', bounds: Bounds): keyof Bounds | undefined {
  return ([`${edge}At`, `${edge}Date`] as const).find((name) => bounds[name] !== undefined);
}

const isoDate =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|([+-])(\d\d):?(\d\d))?)?$/i;

/**
 * An ISO 8601 date or datetime as an instant, NaN when it is none. A bare date is the first millisecond of that day in
 * `zone` or, at the end of a range, the last; a datetime without offset is read on the zone's clock, the first time it
 * is shown or, at the end of a range, the last.
 */
function parseDate(text: string, edge: 'start' | 'end', zone: TimeZone): number {
  const [, year, month, day, hour, minute, second = 0, fraction = '', sign, offsetHour, offsetMinute] =
    isoDate.exec(text) ?? [];
  const dateMs = Date.UTC(Number(year), Number(month) - 1, Number(day));
  // Date.UTC takes 30 February for 2 March.
  if (Number.isNaN(dateMs) || new Date(dateMs).toISOString().slice(0, 10) !== text.slice(0, 10)) return Number.NaN;
  if (hour === undefined)
    return edge === 'start' ? zone.firstInstantAt(dateMs) : zone.firstInstantAt(dateMs + dayMs) - 1;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return Number.NaN;
  const ms = Number(fraction.padEnd(3, '0').slice(0, 3));
  const localMs = dateMs + Number(hour) * 3_600_000 + Number(minute) * 60_000 + Number(second) * 1_000 + ms;
  if (/z$/i.test(text)) return localMs;
  if (sign === undefined) return edge === 'start' ? zone.firstInstantAt(localMs) : zone.lastInstantAt(localMs);
  const offsetMs = Number(offsetHour) * 3_600_000 + Number(offsetMinute) * 60_000;
  return sign === '+' ? localMs - offsetMs : localMs + offsetMs;
}
