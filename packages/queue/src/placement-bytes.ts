import type { ByteWriter } from './byte-writer.ts';
import type { Placement } from './event-log.ts';
import { writeUuid } from './uuid-bytes.ts';

const bytesMax = 105;
const hintFlag = 1;
const linkFlag = 2;
const keepsVisitShortFlag = 4;

/**
 * Writes a placement as append-script.ts reads it (the format is described there).
 * A performance measurement joins the running visit without prolonging it: browsers send it when a page is left, however late.
 */
export function writePlacement(writer: ByteWriter, { event, candidateVisitId, hint, link }: Placement): void {
  const bytes = writer.reserve(bytesMax);
  const start = writer.length();
  let at = start + 1;
  const uuid = (value: string): void => {
    writeUuid(bytes, at, value);
    at += 16;
  };
  const time = (ms: number): void => {
    bytes.writeDoubleBE(ms, at);
    at += 8;
  };

  bytes[start] =
    (hint ? hintFlag : 0) | (link ? linkFlag : 0) | (event.type === 'performance' ? keepsVisitShortFlag : 0);
  uuid(event.sessionId);
  uuid(candidateVisitId);
  time(event.createdAtMs);
  if (hint) {
    uuid(hint.visitId);
    time(hint.lastAtMs);
  }
  if (link) {
    uuid(link.sessionId);
    uuid(link.visitId);
    time(link.lastAtMs);
  }
  writer.advance(at - start);
}
