/** A place in a website's event log: behind this event, which is the `position`-th from the newest (counted from 1). */
export type EventCursor = { createdAtMs: number; eventId: string; position: number };

const cursorPattern = /^(\d{1,16})\.([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.(\d{1,15})$/;

/** The cursor as text that is safe in a URL. */
export function formatEventCursor({ createdAtMs, eventId, position }: EventCursor): string {
  return Buffer.from(`${createdAtMs}.${eventId}.${position}`).toString('base64url');
}

/** null when the text is no cursor. */
export function parseEventCursor(text: string): EventCursor | null {
  const [, createdAtMs, eventId, position] =
    cursorPattern.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
  if (createdAtMs === undefined || eventId === undefined || position === undefined) return null;
  return { createdAtMs: Number(createdAtMs), eventId, position: Number(position) };
}
