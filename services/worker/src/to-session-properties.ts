import type { EventRow, SessionPropertyRow } from '@meridian/warehouse/event-row';

/** The properties that an identify event gives its session. Throws when its data are not the text of a JSON object. */
export function toSessionProperties({
  websiteId,
  sessionId,
  eventId,
  createdAtMs,
  data,
}: EventRow): SessionPropertyRow[] {
  if (data === '') return [];
  const properties = JSON.parse(data) as Record<string, SessionPropertyRow['value']>;
  return Object.entries(properties).map(([key, value]) => ({ websiteId, sessionId, eventId, createdAtMs, key, value }));
}
