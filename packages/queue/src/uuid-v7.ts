import { randomBytes } from 'node:crypto';
import { readUuid } from './uuid-bytes.ts';

const poolBytes = 8_192;
const idBytes = 16;
/** An id takes the last ten of its bytes from chance. */
const randomBytesPerId = 10;
const lastCounter = 0xfff;

/**
 * Mints UUIDv7 texts (RFC 9562).
 * `mint()`: the time is the clock's, in milliseconds, and every id is greater than all that this minter gave before: ids of one
 * millisecond count up in the 12 bits after the time, and when these are used up, or the clock steps back, the time runs ahead.
 * `mint(atMs)`: the time is the given one and the rest is random, in no order: for an id that carries a time other than now.
 */
export type UuidV7Minter = (atMs?: number) => string;

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
  const id = Buffer.alloc(idBytes);

  /** Fills the id's random part and gives the 12 bits of it that stand behind the time. */
  function draw(): number {
    if (used + randomBytesPerId > pool.length) {
      pool = random(poolBytes);
      used = 0;
    }
    for (let i = idBytes - randomBytesPerId; i < idBytes; i++) id[i] = pool[used++] ?? 0;
    return (((id[6] ?? 0) & 0x0f) << 8) | (id[7] ?? 0);
  }

  function format(ms: number, bits12: number): string {
    id.writeUIntBE(ms, 0, 6);
    id[6] = 0x70 | (bits12 >> 8);
    id[7] = bits12 & 0xff;
    id[8] = 0x80 | ((id[8] ?? 0) & 0x3f);
    return readUuid(id, 0);
  }

  return (atMs) => {
    const random12 = draw();
    if (atMs !== undefined) return format(atMs, random12);
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
    return format(lastMs, counter);
  };
}

/** The time that a UUIDv7 carries, in milliseconds since 1970. */
export function uuidV7TimeMs(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}
