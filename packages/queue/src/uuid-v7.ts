import { randomBytes } from 'node:crypto';

const nodeBytes = 10;
const lastCounter = 0xfff;

/**
 * Mints UUIDv7 (RFC 9562), as 16 bytes in the order of the text: an event needs two of them, and a text would be made
 * only to be read again. What makes them unique among all minters is drawn once, as the RFC's node (section 6.4), and
 * not for every id: equal bytes take no room on disk. `writeNext`: the time is the clock's, in milliseconds, and every
 * id is greater than all that this minter gave before: ids of one millisecond count up in the 12 bits after the time,
 * and when these are used up, or the clock steps back, the time runs ahead. `writeAt`: the time is the given one, for
 * an id that carries a time other than now; ids of one time differ in the last 32 bits, which count all of them.
 */
export type UuidV7Minter = {
  writeNext(target: Uint8Array, offset: number): void;
  writeAt(atMs: number, target: Uint8Array, offset: number): void;
};

/** `now`: milliseconds since 1970; `node`: ten random bytes. */
export function createUuidV7Minter({
  now = Date.now,
  node = randomBytes(nodeBytes),
}: {
  now?: () => number;
  node?: Uint8Array;
} = {}): UuidV7Minter {
  const [nodeHigh = 0, nodeLow = 0, ...nodeRest] = node;
  const nodeBits12 = ((nodeHigh & 0x0f) << 8) | nodeLow;
  let lastMs = 0;
  let counter = 0;
  let given = 0;

  function write(target: Uint8Array, offset: number, ms: number, bits12: number): void {
    const high = Math.floor(ms / 2 ** 32);
    target[offset] = high >> 8;
    target[offset + 1] = high & 0xff;
    writeUint32(target, offset + 2, ms);
    target[offset + 6] = 0x70 | (bits12 >> 8);
    target[offset + 7] = bits12 & 0xff;
    for (let i = 0; i < nodeRest.length; i++) target[offset + 8 + i] = nodeRest[i] ?? 0;
    target[offset + 8] = 0x80 | ((target[offset + 8] ?? 0) & 0x3f);
  }

  return {
    writeNext(target, offset) {
      const nowMs = now();
      if (nowMs > lastMs) {
        lastMs = nowMs;
        counter = 0;
      } else if (counter < lastCounter) {
        counter += 1;
      } else {
        lastMs += 1;
        counter = 0;
      }
      write(target, offset, lastMs, counter);
    },
    writeAt(atMs, target, offset) {
      write(target, offset, atMs, nodeBits12);
      given = (given + 1) >>> 0;
      writeUint32(target, offset + 12, given);
    },
  };
}

/** The lower 32 bits of a number, most significant byte first. */
function writeUint32(target: Uint8Array, offset: number, value: number): void {
  target[offset] = value >>> 24;
  target[offset + 1] = (value >>> 16) & 0xff;
  target[offset + 2] = (value >>> 8) & 0xff;
  target[offset + 3] = value & 0xff;
}

/** The time that a UUIDv7 carries, in milliseconds since 1970. */
export function uuidV7TimeMs(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}
