import { isDeepStrictEqual } from 'node:util';
import { type EventRow, readEventRow, setVisitId, writeEventRow } from '@meridian/warehouse/event-row';
import { createByteWriter } from './byte-writer.ts';
import { toEntryFields } from './log-entry.ts';
import { packRows } from './packed-rows.ts';
import { writeUuid } from './uuid-bytes.ts';

/**
 * Names and values of an entry that holds this one event, under its own id and in its own visit, and says that it may
 * be stored already.
 */
export function toReplayedEntry(event: EventRow): (string | Buffer)[] {
  const rows = packRows(toRowBytes(event));
  return toEntryFields({ eventCount: 1, rows, visitIds: uuidBytes(event.visitId), mayBeStored: true });
}

/** Whether it is an event with all its fields, each as it can be written in a row, and no others. */
export function isEventRow(value: unknown): value is EventRow {
  try {
    const bytes = toRowBytes(value as EventRow);
    setVisitId(bytes, 0, uuidBytes((value as EventRow).visitId), 0);
    return isDeepStrictEqual(readEventRow(bytes, 0), value);
  } catch {
    return false;
  }
}

function toRowBytes(event: EventRow): Buffer {
  const writer = createByteWriter();
  writeEventRow(writer, event, event.eventType, uuidBytes(event.eventId));
  return Buffer.from(writer.bytes());
}

function uuidBytes(uuid: string): Buffer {
  const bytes = Buffer.alloc(16);
  writeUuid(bytes, 0, uuid);
  return bytes;
}
