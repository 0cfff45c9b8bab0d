import {
  copyUuid,
  findText,
  nullableNumberBytesMax,
  nullableNumberEnd,
  readInteger,
  readNullableNumber,
  readUuid,
  textLengthBytesMax,
  unitBytesMax,
  writeInteger,
  writeNullableNumber,
  writeText,
  writeUuid,
} from './row-binary.ts';

/**
 * Columns of text of the events table in the order in which they lie in a row, and the field that fills each. '' means
 * none.
 */
const textColumns = {
  hostname: 'hostname',
  url_path: 'urlPath',
  url_query: 'urlQuery',
  page_title: 'pageTitle',
  referrer_domain: 'referrerDomain',
  referrer_path: 'referrerPath',
  referrer_query: 'referrerQuery',
  event_name: 'eventName',
  tag: 'tag',
  distinct_id: 'distinctId',
  browser: 'browser',
  os: 'os',
  device: 'device',
  screen: 'screen',
  language: 'language',
  country: 'country',
  region: 'region',
  city: 'city',
  utm_source: 'utmSource',
  utm_medium: 'utmMedium',
  utm_campaign: 'utmCampaign',
  utm_content: 'utmContent',
  utm_term: 'utmTerm',
  gclid: 'gclid',
  fbclid: 'fbclid',
  msclkid: 'msclkid',
  ttclid: 'ttclid',
  li_fat_id: 'liFatId',
  twclid: 'twclid',
  /** Flattened properties as the text of a JSON object. */
  data: 'data',
} as const;

/** Web vitals behind the texts: milliseconds, cls without unit; null = not measured. */
const vitalColumns = ['lcp', 'inp', 'fcp', 'ttfb', 'cls'] as const;

/** The columns of a row as it is written, in order. */
export const eventColumns: readonly string[] = [
  ...['website_id', 'created_at', 'event_id', 'session_id', 'visit_id', 'event_type'],
  ...Object.keys(textColumns),
  ...vitalColumns,
];

/**
 * One event. All texts are well-formed Unicode. 1 pageview, 2 custom event, 5 performance measurement; 3 identify
 * travels in the same form and becomes properties of its session, never a row of the events table.
 */
export type EventRow = {
  /** UUIDv7; its time is the time of collection, and it grows within one process. */
  eventId: string;
  websiteId: string;
  sessionId: string;
  /** UUIDv7; its time is the start of the visit as first seen. */
  visitId: string;
  /** Event time, milliseconds since 1970. */
  createdAtMs: number;
  eventType: 1 | 2 | 3 | 5;
} & Record<(typeof textColumns)[keyof typeof textColumns], string> &
  Record<(typeof vitalColumns)[number], number | null>;

/** A property that identify gave a session. */
export type SessionPropertyRow = {
  websiteId: string;
  sessionId: string;
  /** The identify call's event id. */
  eventId: string;
  createdAtMs: number;
  key: string;
  value: string | number | boolean;
};

/** Where the values of fixed length lie in a row. */
const place = { websiteId: 0, createdAt: 16, eventId: 24, sessionId: 40, visitId: 56, eventType: 72, texts: 73 };
const textNames = Object.values(textColumns);
const bytesMaxWithoutTexts =
  place.texts + textLengthBytesMax * textNames.length + nullableNumberBytesMax * vitalColumns.length;

/** An event before it has an id and is placed in a visit. */
export type UnplacedEvent = Omit<EventRow, 'eventId' | 'visitId' | 'eventType'>;

/**
 * Where rows are written one behind the other: `reserve` makes room behind `length` and gives the buffer, `advance`
 * takes so much of it.
 */
type RowTarget = { reserve(size: number): Buffer; length(): number; advance(size: number): void };

/**
 * Writes the event as the row that ClickHouse reads in the format RowBinary, with zeros as its visit id (see
 * `setVisitId`). Runs for every event: room is looked for once, by the most that its texts may take.
 * @param eventId 16 bytes in the order of the text
 */
export function writeEventRow(
  writer: RowTarget,
  event: UnplacedEvent,
  eventType: EventRow['eventType'],
  eventId: Uint8Array,
): void {
  const texts = textsOf(event);
  let units = 0;
  for (const text of texts) units += text.length;
  const target = writer.reserve(bytesMaxWithoutTexts + unitBytesMax * units);
  const start = writer.length();
  writeWebsiteId(target, start, event.websiteId);
  writeInteger(target, start + place.createdAt, event.createdAtMs);
  copyUuid(target, start + place.eventId, eventId, 0);
  writeUuid(target, start + place.sessionId, event.sessionId);
  for (let at = start + place.visitId; at < start + place.eventType; at++) target[at] = 0;
  target[start + place.eventType] = eventType;
  let at = start + place.texts;
  for (const text of texts) at = writeText(target, at, text);
  at = writeNullableNumber(target, at, event.lcp);
  at = writeNullableNumber(target, at, event.inp);
  at = writeNullableNumber(target, at, event.fcp);
  at = writeNullableNumber(target, at, event.ttfb);
  at = writeNullableNumber(target, at, event.cls);
  writer.advance(at - start);
}

let lastWebsiteId = '';
const lastWebsiteIdBytes = Buffer.alloc(16);

/** Most rows have the website of the row before. */
function writeWebsiteId(target: Buffer, start: number, websiteId: string): void {
  if (websiteId !== lastWebsiteId) {
    writeUuid(lastWebsiteIdBytes, 0, websiteId);
    lastWebsiteId = websiteId;
  }
  for (let i = 0; i < 16; i++) target[start + place.websiteId + i] = lastWebsiteIdBytes[i] ?? 0;
}

/** The texts in the order of their columns. Named: looking names up costs more than all the rest. */
function textsOf(event: UnplacedEvent): string[] {
  return [
    event.hostname,
    event.urlPath,
    event.urlQuery,
    event.pageTitle,
    event.referrerDomain,
    event.referrerPath,
    event.referrerQuery,
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
}

/** The event whose row starts there. */
export function readEventRow(bytes: Buffer, start: number): EventRow {
  const row: Record<string, string | number | null> = {
    eventId: eventIdOf(bytes, start),
    websiteId: websiteIdOf(bytes, start),
    sessionId: sessionIdOf(bytes, start),
    visitId: readUuid(bytes, start + place.visitId),
    createdAtMs: createdAtMsOf(bytes, start),
    eventType: eventTypeOf(bytes, start),
  };
  let at = start + place.texts;
  for (const name of textNames) {
    const text = findText(bytes, at);
    row[name] = bytes.toString('utf8', text.start, text.end);
    at = text.end;
  }
  for (const name of vitalColumns) {
    row[name] = readNullableNumber(bytes, at);
    at = nullableNumberEnd(bytes, at);
  }
  return row as EventRow;
}

/**
 * The place behind the row that starts there. Of bytes that are no row it is any place, also behind the end of the
 * bytes.
 */
export function eventRowEnd(bytes: Buffer, start: number): number {
  let at = start + place.texts;
  for (let i = 0; i < textNames.length; i++) {
    const length = bytes[at] ?? 0;
    at = length < 0x80 ? at + 1 + length : findText(bytes, at).end;
  }
  for (let i = 0; i < vitalColumns.length; i++) at = nullableNumberEnd(bytes, at);
  return at;
}

/** `visitIds`: bytes in the order of a UUID's text; the visit's 16 begin at `from`. */
export function setVisitId(bytes: Buffer, start: number, visitIds: Buffer, from: number): void {
  copyUuid(bytes, start + place.visitId, visitIds, from);
}

export const websiteIdOf = (bytes: Buffer, start: number): string => readUuid(bytes, start + place.websiteId);

export const eventIdOf = (bytes: Buffer, start: number): string => readUuid(bytes, start + place.eventId);

export const sessionIdOf = (bytes: Buffer, start: number): string => readUuid(bytes, start + place.sessionId);

export const createdAtMsOf = (bytes: Buffer, start: number): number => readInteger(bytes, start + place.createdAt);

export const eventTypeOf = (bytes: Buffer, start: number): number => bytes[start + place.eventType] ?? 0;

/** The time of collection, which the event's id carries, in milliseconds since 1970. */
export function collectedAtMsOf(bytes: Buffer, start: number): number {
  const firstHalf = start + place.eventId; // lowest byte first: the time are the six bytes behind the first two
  return bytes.readUIntLE(firstHalf + 2, 6);
}

/** Whether both rows, of the same bytes, are of one website. */
export function isSameWebsite(bytes: Buffer, start: number, otherStart: number): boolean {
  for (let i = 0; i < 16; i++) if (bytes[start + i] !== bytes[otherStart + i]) return false;
  return true;
}

/**
 * A whole number that is the same for all rows of a website and, more likely than not, another one for another website.
 */
export const websiteHashOf = (bytes: Buffer, start: number): number => bytes.readUInt32LE(start + 8);
