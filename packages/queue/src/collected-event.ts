import { type EventRow, type UnplacedEvent, writeEventRow } from '@meridian/warehouse/event-row';
import type { ByteWriter } from './byte-writer.ts';

/** Every type of event and its number, in the log and in the warehouse. */
export const eventTypeCode = {
  pageview: 1,
  custom: 2,
  identify: 3,
  performance: 5,
} as const satisfies Record<string, EventRow['eventType']>;

export type EventType = keyof typeof eventTypeCode;

/**
 * One accepted event, enriched, before the event log has placed it in a visit. Address and raw user agent never travel.
 */
export type PendingEvent = UnplacedEvent & { type: EventType };

/**
 * Writes the event as it travels from ingest to worker: as the row that the warehouse takes, still without its visit
 * id.
 * @param eventId UUIDv7 as bytes in the order of its text
 */
export function encodeEvent(writer: ByteWriter, event: PendingEvent, eventId: Uint8Array): void {
  writeEventRow(writer, event, eventTypeCode[event.type], eventId);
}
