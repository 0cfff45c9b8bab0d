import { type EventRow, readEventRow } from '@meridian/warehouse/event-row';
import type { EventRows } from './batch-rows.ts';
import { createByteWriter } from './byte-writer.ts';
import { encodeEvent, eventTypeCode, type PendingEvent } from './collected-event.ts';
import { type RawEntry, toLogBatch } from './log-batch.ts';
import { toEntryFields } from './log-entry.ts';
import { packRows } from './packed-rows.ts';
import { readUuid, writeUuid } from './uuid-bytes.ts';
import { createUuidV7Minter, type UuidV7Minter } from './uuid-v7.ts';

const websiteId = '0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8f';
const visitId = '019eb10d-d800-7abc-8def-0123456789ab';

/** An event that has its id already, as in the log. */
export type LoggedEvent = PendingEvent & { eventId: string };

const hourMs = 3_600_000;
/** In the past, and of the live lane. */
const thisHour = Math.floor(Date.now() / hourMs) * hourMs;

/** A page view of a fixed visitor at the beginning of this hour, for tests. */
export function pendingEvent(changes: Partial<LoggedEvent> = {}): LoggedEvent {
  return {
    eventId: '019eb10d-dcfb-77ff-bfff-0123456789ab',
    websiteId,
    sessionId: '5f0c1d2e-3a4b-5c6d-8e7f-90a1b2c3d4e5',
    createdAtMs: thisHour,
    type: 'pageview',
    hostname: 'shop.example',
    urlPath: '/café/a"b',
    urlQuery: 'x=1&y=2',
    referrerDomain: 'search.example',
    referrerPath: '/find',
    referrerQuery: 'q=shoes',
    pageTitle: 'Shoes 👟\nand\tmore',
    eventName: '',
    tag: 'a',
    distinctId: '',
    browser: 'Firefox',
    os: 'Linux',
    device: 'desktop',
    screen: '1920x1080',
    language: 'de-DE',
    country: 'DE',
    region: 'DE-BE',
    city: 'Berlin',
    utmSource: 'news',
    utmMedium: '',
    utmCampaign: 'june',
    utmContent: '',
    utmTerm: '',
    gclid: '',
    fbclid: 'f-1',
    msclkid: '',
    ttclid: '',
    liFatId: '',
    twclid: '',
    data: '',
    lcp: null,
    inp: null,
    fcp: null,
    ttfb: null,
    cls: null,
    ...changes,
  };
}

/** An entry of the log as Redis gives it, with these events, each in the visit with the id. */
export function rawEntry(events: readonly LoggedEvent[], visitIds: readonly string[]): RawEntry {
  const rows = createByteWriter();
  for (const event of events) {
    const eventId = Buffer.alloc(16);
    writeUuid(eventId, 0, event.eventId);
    encodeEvent(rows, event, eventId);
  }
  const ids = Buffer.alloc(16 * visitIds.length);
  for (const [i, visitId] of visitIds.entries()) writeUuid(ids, 16 * i, visitId);
  const fields = toEntryFields({ eventCount: events.length, rows: packRows(rows.bytes()), visitIds: ids });
  return [Buffer.from('1-1'), fields.map((field) => (typeof field === 'string' ? Buffer.from(field) : field))];
}

/** The events as a worker has them in hand, all of one visit. */
export function rowsOf(events: readonly LoggedEvent[]): EventRows {
  const entry = rawEntry(
    events,
    events.map(() => visitId),
  );
  return toLogBatch('live', [events.length > 0 ? [entry] : []], false).rows;
}

/** The opposite of `rowsOf`. */
export function eventsOf({ count, bytes, starts }: EventRows): EventRow[] {
  return Array.from({ length: count }, (_, row) => readEventRow(bytes, starts[row] ?? 0));
}

/** What becomes of an event on its way through the log. */
export function toRow({ type, ...event }: LoggedEvent, ofVisit: string = visitId): EventRow {
  return { ...event, visitId: ofVisit, eventType: eventTypeCode[type] };
}

/** The text of an id that the minter mints: the next one's, or one's of the given time. */
export function mintText(ids: UuidV7Minter, atMs?: number): string {
  const bytes = Buffer.alloc(16);
  if (atMs === undefined) ids.writeNext(bytes, 0);
  else ids.writeAt(atMs, bytes, 0);
  return readUuid(bytes, 0);
}

/** A minter for an event log, and the texts of the event ids that it gave. */
export function createRecordedIds(now?: () => number): { ids: UuidV7Minter; given: string[] } {
  const { writeNext, writeAt } = createUuidV7Minter(now && { now });
  const given: string[] = [];
  return {
    given,
    ids: {
      writeAt,
      writeNext(target, offset) {
        writeNext(target, offset);
        given.push(readUuid(target, offset));
      },
    },
  };
}
