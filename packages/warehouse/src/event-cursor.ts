/** A place in a website's event log: behind this event, which is the `position`-th from the newest (counted from 1). */
export type EventCursor = { createdAtMs: number; eventId: string; position: number };

const cursorPattern = /^(\d{1,16})\.([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.(\d{1,15})$/;

/** The cursor as text that is safe in a URL. */
export function formatEventCursor({ createdAtMs, eventId, position }: EventCursor): string {
  return Buffer.from(`${createdAtMs}.${eventId}.${position}`).toString('base64url');
}

/** What is later has no time in ClickHouse, and even later none in a Date. Unix ms. */
const latestMs = Date.UTC(2300, 0, 1) - 1;

/** null when the text is no cursor, or is none of an event that can be. */
export function parseEventCursor(text: string): EventCursor | null {
  const [, createdAtMs, eventId, position] =
    cursorPattern.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
  if (createdAtMs === undefined || eventId === undefined || position === undefined) return null;
  const cursor = { createdAtMs: Number(createdAtMs), eventId, position: Number(position) };
  return cursor.createdAtMs <= latestMs && cursor.position >= 1 ? cursor : null;
}
