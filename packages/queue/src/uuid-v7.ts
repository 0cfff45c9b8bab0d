import { randomBytes } from 'node:crypto';

const poolBytes = 8_192;
const idBytes = 16;
/** An id takes the last ten of its bytes from chance. */
const randomBytesPerId = 10;
const lastCounter = 0xfff;

/**
 * Mints UUIDv7 (RFC 9562), as 16 bytes in the order of the text: an event needs two of them, and a text would be made only to be read again.
 * `writeNext`: the time is the clock's, in milliseconds, and every id is greater than all that this minter gave before: ids of one
 * millisecond count up in the 12 bits after the time, and when these are used up, or the clock steps back, the time runs ahead.
 * `writeAt`: the time is the given one and the rest is random, in no order: for an id that carries a time other than now.
 */
export type UuidV7Minter = {
  writeNext(target: Uint8Array, offset: number): void;
  writeAt(atMs: number, target: Uint8Array, offset: number): void;
};

/** `now`: milliseconds since 1970; `random`: that many random bytes. */
export function createUuidV7Minter({
  now = Date.now,
  random = randomBytes,
}: {
  now?: () => number;
  random?: (size: number) => Uint8Array;
} = {}): UuidV7Minter {
  let pool: Uint8Array = new Uint8Array(0);
  let used = 0;
  let lastMs = 0;
  let counter = 0;

  /** Writes the id's random part and gives the 12 bits of it that stand behind the time. */
  function draw(target: Uint8Array, offset: number): number {
    if (used + randomBytesPerId > pool.length) {
      pool = random(poolBytes);
      used = 0;
    }
    const end = offset + idBytes;
    for (let i = end - randomBytesPerId; i < end; i++) target[i] = pool[used++] ?? 0;
    return (((target[offset + 6] ?? 0) & 0x0f) << 8) | (target[offset + 7] ?? 0);
  }

  function complete(target: Uint8Array, offset: number, ms: number, bits12: number): void {
    const high = Math.floor(ms / 2 ** 32);
    target[offset] = high >> 8;
    target[offset + 1] = high & 0xff;
    target[offset + 2] = ms >>> 24;
    target[offset + 3] = (ms >>> 16) & 0xff;
    target[offset + 4] = (ms >>> 8) & 0xff;
    target[offset + 5] = ms & 0xff;
    target[offset + 6] = 0x70 | (bits12 >> 8);
    target[offset + 7] = bits12 & 0xff;
    target[offset + 8] = 0x80 | ((target[offset + 8] ?? 0) & 0x3f);
  }

  return {
    writeNext(target, offset) {
      const random12 = draw(target, offset);
      const nowMs = now();
      if (nowMs > lastMs) {
        lastMs = nowMs;
        // The upper half stays free, so that a busy millisecond can count up.
        counter = random12 & 0x7ff;
      } else if (counter < lastCounter) {
        counter += 1;
      } else {
        lastMs += 1;
        counter = random12 & 0x7ff;
      }
      complete(target, offset, lastMs, counter);
    },
    writeAt(atMs, target, offset) {
      complete(target, offset, atMs, draw(target, offset));
    },
  };
}

/** The time that a UUIDv7 carries, in milliseconds since 1970. */
export function uuidV7TimeMs(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}
