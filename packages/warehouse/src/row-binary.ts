/*
 * Values in ClickHouse's format RowBinary. What writes takes the place of the value and gives the place behind it; room
 * must be there. It runs for every value of every event: by hand where a call of Buffer's own, some 100 ns each, costs
 * more.
 */

/** Texts of up to so many UTF-16 units take at most 127 bytes or 16,383: their length takes one byte or two. */
const shortTextMax = 42;
const mediumTextMax = 5_461;

/** A UUID's 16 bytes lie as two numbers of 64 bits, each with its lowest byte first: at these places. */
const uuidByteOrder = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8] as const;

/** Where the pairs of digits begin in a UUID's text, in the order in which their bytes lie. */
const digitPairs = [16, 14, 11, 9, 6, 4, 2, 0, 34, 32, 30, 28, 26, 24, 21, 19];

const inTextOrder = Buffer.alloc(16);

const digits = Buffer.alloc(36);
const nibbleOfCode = new Uint8Array(256);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  nibbleOfCode[digit.charCodeAt(0)] = value;
  nibbleOfCode[digit.toUpperCase().charCodeAt(0)] = value;
}

/** Always 16 bytes, whatever the text. */
export function writeUuid(target: Buffer, at: number, uuid: string): number {
  // Not charCodeAt: texts have a dozen inner forms, and where more than four of them come by, V8 looks the method up
  // for every character.
  const written = digits.write(uuid, 'latin1');
  if (written < digits.length) digits.fill(0, written);
  for (let i = 0; i < 16; i++) {
    const pair = digitPairs[i] ?? 0;
    const high = nibbleOfCode[digits[pair] ?? 0] ?? 0;
    const low = nibbleOfCode[digits[pair + 1] ?? 0] ?? 0;
    target[at + i] = (high << 4) | low;
  }
  return at + 16;
}

/** `source`: bytes in the order of a UUID's text; its 16 begin at `from`. */
export function copyUuid(target: Uint8Array, at: number, source: Uint8Array, from: number): void {
  for (let i = 0; i < 16; i++) target[at + i] = source[from + (uuidByteOrder[i] ?? 0)] ?? 0;
}

export function readUuid(bytes: Buffer, at: number): string {
  for (let i = 0; i < 16; i++) inTextOrder[uuidByteOrder[i] ?? 0] = bytes[at + i] ?? 0;
  const hex = inTextOrder.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A whole number below 2^53 as Int64. */
export function writeInteger(target: Buffer, at: number, value: number): number {
  const high = Math.floor(value / 2 ** 32);
  return target.writeInt32LE(high, target.writeUInt32LE(value - high * 2 ** 32, at));
}

export function readInteger(bytes: Buffer, at: number): number {
  return bytes.readInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at);
}

/** Well-formed Unicode only: what is not would be stored as replacement characters. */
export function writeText(target: Buffer, at: number, text: string): number {
  const { length } = text;
  if (length === 0) {
    target[at] = 0;
    return at + 1;
  }
  if (length <= shortTextMax) {
    const written = target.write(text, at + 1);
    target[at] = written;
    return at + 1 + written;
  }
  if (length <= mediumTextMax) {
    const written = target.write(text, at + 2);
    target[at] = (written & 0x7f) | 0x80;
    target[at + 1] = written >>> 7;
    return at + 2 + written;
  }
  return writeLongText(target, at, text);
}

function writeLongText(target: Buffer, at: number, text: string): number {
  let position = at;
  let rest = Buffer.byteLength(text);
  for (; rest >= 0x80; rest >>>= 7) {
    target[position] = (rest & 0x7f) | 0x80;
    position += 1;
  }
  target[position] = rest;
  return position + 1 + target.write(text, position + 1);
}

/** Bytes that the length of a text takes at most, and each of its UTF-16 units. */
export const textLengthBytesMax = 5;
export const unitBytesMax = 3;

/** Where the bytes of the text begin and end whose length lies at the place. */
export function findText(bytes: Buffer, at: number): { start: number; end: number } {
  let length = 0;
  let position = at;
  for (let factor = 1; ; factor *= 0x80) {
    const byte = bytes[position] ?? 0;
    position += 1;
    length += (byte & 0x7f) * factor;
    if (byte < 0x80) return { start: position, end: position + length };
  }
}

/** A Nullable(Float64), at most `nullableNumberBytesMax`. */
export function writeNullableNumber(target: Buffer, at: number, value: number | null): number {
  target[at] = value === null ? 1 : 0;
  return value === null ? at + 1 : target.writeDoubleLE(value, at + 1);
}

export function readNullableNumber(bytes: Buffer, at: number): number | null {
  return bytes[at] === 0 ? bytes.readDoubleLE(at + 1) : null;
}

/** The place behind a Nullable(Float64). */
export function nullableNumberEnd(bytes: Buffer, at: number): number {
  return at + (bytes[at] === 0 ? nullableNumberBytesMax : 1);
}

export const nullableNumberBytesMax = 9;
