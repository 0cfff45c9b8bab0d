import { compressSync, uncompressSync } from 'lz4-napi';

const lengthBytes = 4;
/**
 * What a byte of an LZ4 block can stand for at most. A length that is greater than that is none: no memory is taken for
 * it.
 */
const bytesPerPackedByteMax = 255;

/**
 * Rows of events, one behind the other, as an entry of the event log carries them beside the visit ids: their length in
 * bytes (UInt32, lowest byte first) and an LZ4 block.
 */
export function packRows(rows: Buffer): Buffer {
  return compressSync(rows);
}

/** The length of the rows that are packed there, in bytes. */
export function packedRowsLength(packed: Buffer): number {
  return packed.readUInt32LE();
}

/** The memory that it takes to unpack this, whatever it is. */
export function unpackedBytesMax(packed: Buffer): number {
  if (packed.length < lengthBytes) return 0;
  return Math.min(packedRowsLength(packed), (packed.length - lengthBytes) * bytesPerPackedByteMax);
}

/** The opposite of `packRows`; throws when that is not what the bytes are. */
export function unpackRows(packed: Buffer): Buffer {
  const length = packedRowsLength(packed);
  if (length > unpackedBytesMax(packed)) throw new Error('packed rows are longer than they can be');
  const rows = uncompressSync(packed);
  if (rows.length !== length) throw new Error('packed rows have another length than they say');
  return rows;
}
