import type { ByteWriter } from './byte-writer.ts';
import type { Placement } from './placement.ts';
import { writeUuid } from './uuid-bytes.ts';
import type { UuidV7Minter } from './uuid-v7.ts';

const bytesMax = 105;
const uuidBytes = 16;
const hintFlag = 1;
const linkFlag = 2;
const keepsVisitShortFlag = 4;

/**
 * Writes a placement as append-script.ts reads it (the format is described there).
 * A performance measurement joins the running visit without prolonging it: browsers send it when a page is left,
 * however late.
 */
export function writePlacement(writer: ByteWriter, { event, hint, link }: Placement, ids: UuidV7Minter): void {
  const bytes = writer.reserve(bytesMax);
  const start = writer.length();
  bytes[start] =
    (hint ? hintFlag : 0) | (link ? linkFlag : 0) | (event.type === 'performance' ? keepsVisitShortFlag : 0);
  let end = writeUuid(bytes, start + 1, event.sessionId);
  // The visit's id if the event opens one: its time is the event's.
  ids.writeAt(event.createdAtMs, bytes, end);
  end = bytes.writeDoubleBE(event.createdAtMs, end + uuidBytes);
  if (hint) end = bytes.writeDoubleBE(hint.lastAtMs, writeUuid(bytes, end, hint.visitId));
  if (link) {
    end = writeUuid(bytes, end, link.sessionId);
    end = bytes.writeDoubleBE(link.lastAtMs, writeUuid(bytes, end, link.visitId));
  }
  writer.advance(end - start);
}
