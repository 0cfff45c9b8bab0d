import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { readUuid } from './uuid-bytes.ts';

/** Every type of event and its number, in the log and in the warehouse. */
export const eventTypeCode = { pageview: 1, custom: 2, identify: 3, performance: 5 } as const;

export type EventType = keyof typeof eventTypeCode;

const typeOfCode = new Map<unknown, EventType>(
  (Object.keys(eventTypeCode) as EventType[]).map((type) => [eventTypeCode[type], type]),
);

/** Values of a line without vitals. */
const lineLength = 35;

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
  // Texts: '' = none.
  hostname: string;
  urlPath: string;
  urlQuery: string;
  referrerDomain: string;
  referrerPath: string;
  referrerQuery: string;
  pageTitle: string;
  eventName: string;
  tag: string;
  distinctId: string;
  browser: string;
  os: string;
  device: string;
  screen: string;
  language: string;
  country: string;
  region: string;
  city: string;
  utmSource: string;
  utmMedium: string;
  utmCampaign: string;
  utmContent: string;
  utmTerm: string;
  gclid: string;
  fbclid: string;
  msclkid: string;
  ttclid: string;
  liFatId: string;
  twclid: string;
  /** Flattened properties as the text of a JSON object. */
  data: string;
  /** Web vitals of a performance event: milliseconds, cls without unit; null = not measured. */
  lcp: number | null;
  inp: number | null;
  fcp: number | null;
  ttfb: number | null;
  cls: number | null;
};

/** An event before the event log has placed it in a visit. */
export type PendingEvent = Omit<CollectedEvent, 'visitId'>;

/** Version of the format below; every entry of the log carries the one it is written in. */
export const eventFormatVersion = '1';

/**
 * One event as a line of format version 1: the text of a JSON array with the fields in the order below; the five vitals only
 * for a performance event. JSON text holds no line break. Every field is named, not looped over: this runs for every event.
 */
export function encodeEvent(event: PendingEvent): string {
  const line: (string | number | null)[] = [
    event.eventId,
    event.websiteId,
    event.sessionId,
    event.createdAtMs,
    eventTypeCode[event.type],
    event.hostname,
    event.urlPath,
    event.urlQuery,
    event.referrerDomain,
    event.referrerPath,
    event.referrerQuery,
    event.pageTitle,
    event.eventName,
    event.tag,
    event.distinctId,
    event.browser,
    event.os,
    event.device,
    event.screen,
    event.language,
    event.country,
    event.region,
    event.city,
    event.utmSource,
    event.utmMedium,
    event.utmCampaign,
    event.utmContent,
    event.utmTerm,
    event.gclid,
    event.fbclid,
    event.msclkid,
    event.ttclid,
    event.liFatId,
    event.twclid,
    event.data,
  ];
  if (event.type === 'performance') line.push(event.lcp, event.inp, event.fcp, event.ttfb, event.cls);
  return JSON.stringify(line);
}

/** Lines of events, joined by line breaks, as an entry of the event log carries them beside the visit ids. */
export function deflateLines(lines: Uint8Array): Buffer {
  return deflateRawSync(lines, { level: 1, memLevel: 9 });
}

/**
 * The opposite of `encodeEvent` and `deflateLines`. `visitIds`: 16 bytes for each event, in order. Throws when the bytes are not
 * what these wrote in a known version.
 */
export function decodeEvents(deflated: Uint8Array, visitIds: Buffer): CollectedEvent[] {
  const lines = inflateRawSync(deflated).toString('utf8').split('\n');
  if (lines.length * 16 !== visitIds.length) throw new Error('an entry must hold one visit id for each event');
  return lines.map((line, index) => decodeEvent(line, readUuid(visitIds, index * 16)));
}

function decodeEvent(line: string, visitId: string): CollectedEvent {
  const values: unknown = JSON.parse(line);
  if (!Array.isArray(values) || values.length < lineLength) throw new Error('not a line of an event');
  const type = typeOfCode.get(values[4]);
  if (type === undefined) throw new Error('unknown type of event');
  return {
    eventId: values[0],
    websiteId: values[1],
    sessionId: values[2],
    visitId,
    createdAtMs: values[3],
    type,
    hostname: values[5],
    urlPath: values[6],
    urlQuery: values[7],
    referrerDomain: values[8],
    referrerPath: values[9],
    referrerQuery: values[10],
    pageTitle: values[11],
    eventName: values[12],
    tag: values[13],
    distinctId: values[14],
    browser: values[15],
    os: values[16],
    device: values[17],
    screen: values[18],
    language: values[19],
    country: values[20],
    region: values[21],
    city: values[22],
    utmSource: values[23],
    utmMedium: values[24],
    utmCampaign: values[25],
    utmContent: values[26],
    utmTerm: values[27],
    gclid: values[28],
    fbclid: values[29],
    msclkid: values[30],
    ttclid: values[31],
    liFatId: values[32],
    twclid: values[33],
    data: values[34],
    lcp: values[35] ?? null,
    inp: values[36] ?? null,
    fcp: values[37] ?? null,
    ttfb: values[38] ?? null,
    cls: values[39] ?? null,
  };
}
