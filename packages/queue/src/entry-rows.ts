import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';

/** Events of one entry at most. */
export const entryEventsMax = 500;

/** Version of the format of an entry's rows; every entry of the log carries the one it is written in. */
export const eventFormatVersion = '2';

/** Less than this is not worth the 30 microseconds and more that deflating takes at least. */
const deflateFromBytes = 1_024;

/** Every stream is left open at its end, at a whole byte: so streams may be joined to one. */
const finishFlush = constants.Z_SYNC_FLUSH;

const lengthBytes = 4;
const storedHeadBytes = 5;

/**
 * Rows of events, one behind the other, as an entry of the event log carries them beside the visit ids: their length in bytes (UInt32, lowest
 * byte first) and a raw deflate stream without end.
 */
export function packRows(rows: Buffer): Buffer {
  if (rows.length >= deflateFromBytes) {
    const head = Buffer.allocUnsafe(lengthBytes);
    head.writeUInt32LE(rows.length);
    return Buffer.concat([
      head,
      deflateRawSync(rows, { level: 1, memLevel: 9, finishFlush, chunkSize: rows.length >> 1 }),
    ]);
  }
  // A block that is only stored (RFC 1951, 3.2.4): its kind, its length, the length's complement.
  const packed = Buffer.allocUnsafe(lengthBytes + storedHeadBytes + rows.length);
  packed.writeUInt32LE(rows.length);
  packed[lengthBytes] = 0;
  packed.writeUInt16LE(rows.length, lengthBytes + 1);
  packed.writeUInt16LE(~rows.length & 0xffff, lengthBytes + 3);
  rows.copy(packed, lengthBytes + storedHeadBytes);
  return packed;
}

/** The length of the rows that are packed there, in bytes. */
export function packedRowsLength(packed: Buffer): number {
  return packed.readUInt32LE();
}

/** The rows of entries, one behind the other. All in one go: a start of its own would cost as much as the rows of ten events. */
export function unpackRows(packed: readonly Buffer[]): Buffer {
  const length = packed.reduce((sum, one) => sum + packedRowsLength(one), 0);
  if (length === 0) return Buffer.alloc(0);
  const stream = Buffer.concat(packed.map((one) => one.subarray(lengthBytes)));
  // One byte more than needed, or a second buffer would be made for what may come; never more than a stream can hold (1,032 times its size).
  const rows = inflateRawSync(stream, {
    finishFlush,
    chunkSize: Math.max(64, Math.min(length, stream.length * 1_100) + 1),
  });
  if (rows.length !== length) throw new Error('packed rows have another length than they say');
  return rows;
}
