import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { readUuid } from './uuid-bytes.ts';

export type EventType = 'pageview' | 'custom' | 'identify' | 'performance';

const typeCode = { pageview: 1, custom: 2, identify: 3, performance: 5 } as const satisfies Record<EventType, number>;
const typeOfCode = new Map<unknown, EventType>([
  [1, 'pageview'],
  [2, 'custom'],
  [3, 'identify'],
  [5, 'performance'],
]);

/** One accepted event, enriched, as it travels from ingest to worker. Address and raw user agent never travel. */
export type CollectedEvent = {
  /** UUIDv7 minted at collection: its time is the time of collection, and it grows within one process. */
  eventId: string;
  websiteId: string;
  sessionId: string;
  /** UUIDv7 whose time is the visit's start as first seen; chosen by the event log at append. */
  visitId: string;
  /** The event's own time, milliseconds since 1970: the sender's timestamp or the time of collection. */
  createdAtMs: number;
  type: EventType;
  /** Web vitals of a performance event: milliseconds, cls without unit; null = not measured. */
  lcp: number | null;
  inp: number | null;
  fcp: number | null;
  ttfb: number | null;
  cls: number | null;
} & Record<TextField, string>;

/** An event before the event log has placed it in a visit. */
export type PendingEvent = Omit<CollectedEvent, 'visitId'>;

/** Text fields in the order of format version 1; '' = none. `data`: flattened properties as the text of a JSON object. */
const textFields = [
  'hostname',
  'urlPath',
  'urlQuery',
  'referrerDomain',
  'referrerPath',
  'referrerQuery',
  'pageTitle',
  'eventName',
  'tag',
  'distinctId',
  'browser',
  'os',
  'device',
  'screen',
  'language',
  'country',
  'region',
  'city',
  'utmSource',
  'utmMedium',
  'utmCampaign',
  'utmContent',
  'utmTerm',
  'gclid',
  'fbclid',
  'msclkid',
  'ttclid',
  'liFatId',
  'twclid',
  'data',
] as const;
type TextField = (typeof textFields)[number];
const headLength = 5;

/** Version of the format below. A reader accepts every version that may still lie in a log. */
export const eventFormatVersion = 1;

/**
 * One event as a line of format version 1: the text of a JSON array
 * [eventId, websiteId, sessionId, createdAtMs, type code, the text fields in their order, then the five vitals of a
 * performance event only]. JSON text holds no line break.
 */
export function encodeEvent(event: PendingEvent): string {
  const line: (string | number | null)[] = [
    event.eventId,
    event.websiteId,
    event.sessionId,
    event.createdAtMs,
    typeCode[event.type],
  ];
  for (const field of textFields) line.push(event[field]);
  if (event.type === 'performance') line.push(event.lcp, event.inp, event.fcp, event.ttfb, event.cls);
  return JSON.stringify(line);
}

/** The lines of the events, deflated: what an entry of the event log carries beside the visit ids. */
export function encodeEvents(events: readonly PendingEvent[]): Buffer {
  return deflateLines(Buffer.from(events.map(encodeEvent).join('\n')));
}

export function deflateLines(lines: Uint8Array): Buffer {
  return deflateRawSync(lines, { level: 1, memLevel: 9 });
}

/**
 * The opposite of `encodeEvents`. `visitIds`: 16 bytes for each event, in order. Throws when the bytes are not what
 * `encodeEvents` of a known version wrote.
 */
export function decodeEvents(deflated: Uint8Array, visitIds: Buffer): CollectedEvent[] {
  const lines = inflateRawSync(deflated).toString('utf8').split('\n');
  if (lines.length * 16 !== visitIds.length) throw new Error('an entry must hold one visit id for each event');
  return lines.map((line, index) => decodeEvent(line, readUuid(visitIds, index * 16)));
}

function decodeEvent(line: string, visitId: string): CollectedEvent {
  const values: unknown = JSON.parse(line);
  if (!Array.isArray(values) || values.length < headLength + textFields.length)
    throw new Error('not a line of an event');
  const [eventId, websiteId, sessionId, createdAtMs, code] = values;
  const type = typeOfCode.get(code);
  if (type === undefined) throw new Error('unknown type of event');
  const vital = (index: number): number | null => values[headLength + textFields.length + index] ?? null;
  const event = {
    eventId,
    websiteId,
    sessionId,
    visitId,
    createdAtMs,
    type,
    lcp: vital(0),
    inp: vital(1),
    fcp: vital(2),
    ttfb: vital(3),
    cls: vital(4),
  } as CollectedEvent;
  for (let i = 0; i < textFields.length; i++) event[textFields[i] as TextField] = values[headLength + i];
  return event;
}
