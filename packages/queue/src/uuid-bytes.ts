/** Where the 16 pairs of digits begin in a UUID's text. */
const digitPairs = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const digits = Buffer.alloc(36);
const nibbleOfCode = new Uint8Array(256);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  nibbleOfCode[digit.charCodeAt(0)] = value;
  nibbleOfCode[digit.toUpperCase().charCodeAt(0)] = value;
}

/**
 * Writes a UUID's text (36 characters) as its 16 bytes and gives the offset behind them. Never more or fewer bytes,
 * whatever the text. Called for every event: `Buffer.write(…, 'hex')` costs more, and so does charCodeAt where texts of
 * many inner forms come by.
 */
export function writeUuid(target: Uint8Array, offset: number, uuid: string): number {
  const written = digits.write(uuid, 'latin1');
  if (written < digits.length) digits.fill(0, written);
  let position = offset;
  for (const pair of digitPairs) {
    const high = nibbleOfCode[digits[pair] ?? 0] ?? 0;
    const low = nibbleOfCode[digits[pair + 1] ?? 0] ?? 0;
    target[position] = (high << 4) | low;
    position += 1;
  }
  return position;
}

const text = Buffer.alloc(36, '-');
const codeOfNibble = Buffer.from('0123456789abcdef');

/**
 * The text of the UUID whose 16 bytes start at the offset. Built in one buffer: V8 would have to flatten a concatenated
 * text later, at the same cost again.
 */
export function readUuid(bytes: Uint8Array, offset: number): string {
  let at = offset;
  for (const pair of digitPairs) {
    const byte = bytes[at] ?? 0;
    text[pair] = codeOfNibble[byte >> 4] ?? 0;
    text[pair + 1] = codeOfNibble[byte & 0x0f] ?? 0;
    at += 1;
  }
  return text.toString('latin1');
}

/** The texts of the UUIDs that lie one behind the other. */
export function readUuids(bytes: Uint8Array): string[] {
  const uuids: string[] = [];
  for (let start = 0; start < bytes.length; start += 16) uuids.push(readUuid(bytes, start));
  return uuids;
}
