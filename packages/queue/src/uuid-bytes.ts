const { charCodeAt } = String.prototype; // why: see row-binary.ts of the warehouse

/** Where the 16 pairs of digits begin in a UUID's text. */
const digitPairs = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const nibbleOfCode = new Uint8Array(128);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  nibbleOfCode[digit.charCodeAt(0)] = value;
  nibbleOfCode[digit.toUpperCase().charCodeAt(0)] = value;
}

/**
 * Writes a UUID's text (36 characters) as its 16 bytes and gives the offset behind them. Never more or fewer bytes, whatever the text.
 * Called for every event: `Buffer.write(…, 'hex')` costs more.
 */
export function writeUuid(target: Buffer, offset: number, uuid: string): number {
  let position = offset;
  for (const pair of digitPairs) {
    const high = nibbleOfCode[charCodeAt.call(uuid, pair)] ?? 0;
    const low = nibbleOfCode[charCodeAt.call(uuid, pair + 1)] ?? 0;
    target[position] = (high << 4) | low;
    position += 1;
  }
  return position;
}

/** The texts of the UUIDs that lie one behind the other. */
export function readUuids(bytes: Buffer): string[] {
  const hex = bytes.toString('hex');
  const uuids: string[] = [];
  for (let start = 0; start < hex.length; start += 32) uuids.push(dashed(hex, start));
  return uuids;
}

// Called for every event, so without a closure: making one costs as much as the text.
function dashed(hex: string, start: number): string {
  return (
    `${hex.slice(start, start + 8)}-${hex.slice(start + 8, start + 12)}-${hex.slice(start + 12, start + 16)}-` +
    `${hex.slice(start + 16, start + 20)}-${hex.slice(start + 20, start + 32)}`
  );
}
