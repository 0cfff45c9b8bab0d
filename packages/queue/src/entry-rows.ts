import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';

/** Version of the format of an entry's rows; every entry of the log carries the one it is written in. */
export const eventFormatVersion = '2';

/** Less than this is not worth the 30 microseconds and more that deflating takes at least. */
const deflateFromBytes = 1_024;

/** Every stream is left open at its end, at a whole byte: so streams may be joined to one. */
const finishFlush = constants.Z_SYNC_FLUSH;

/** Rows of events, one behind the other, as an entry of the event log carries them beside the visit ids: a raw deflate stream without end. */
export function packRows(rows: Buffer): Buffer {
  if (rows.length >= deflateFromBytes)
    return deflateRawSync(rows, { level: 1, memLevel: 9, finishFlush, chunkSize: rows.length >> 1 });
  // A block that is only stored (RFC 1951, 3.2.4): its kind, its length, the length's complement.
  const packed = Buffer.allocUnsafe(5 + rows.length);
  packed[0] = 0;
  packed.writeUInt16LE(rows.length, 1);
  packed.writeUInt16LE(~rows.length & 0xffff, 3);
  rows.copy(packed, 5);
  return packed;
}

/** The rows of entries, one behind the other. All in one go: a start of its own would cost as much as the rows of ten events. */
export function unpackRows(packed: readonly Buffer[]): Buffer {
  const stream = Buffer.concat(packed);
  if (stream.length === 0) return stream;
  return inflateRawSync(stream, { finishFlush, chunkSize: Math.max(4_096, 4 * stream.length) });
}
