import { type CollectedEvent, eventTypeCode } from '@meridian/queue/collected-event';
import type { EventRow, SessionPropertyRow } from '@meridian/warehouse/event-row';

/** The event itself becomes the row: to copy its fields would cost as much as to read it from the log. Null for identify, which is no row of the event log (docs/semantics.md "Identify and performance"). */
export function toEventRow(event: CollectedEvent): EventRow | null {
  return event.type === 'identify' ? null : Object.assign(event, { eventType: eventTypeCode[event.type] });
}

/** The properties that an identify event gives its session; none for other events. */
export function toSessionPropertyRows(event: CollectedEvent): SessionPropertyRow[] {
  if (event.type !== 'identify' || event.data === '') return [];
  const { websiteId, sessionId, eventId, createdAtMs } = event;
  const properties = JSON.parse(event.data) as Record<string, SessionPropertyRow['value']>;
  return Object.entries(properties).map(([key, value]) => ({ websiteId, sessionId, eventId, createdAtMs, key, value }));
}
