import { randomBytes } from 'node:crypto';

const poolBytes = 8_192;
/** Hex digits of chance that an id takes: 12 bits after the time, 62 after the variant. */
const digitsPerId = 19;
const lastCounter = 0xfff;
const variants = ['8', '9', 'a', 'b'];
const hexOf12Bits = Array.from({ length: 4_096 }, (_, bits) => bits.toString(16).padStart(3, '0'));

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
  // Digits are cut from one long text and the time's part is kept, since two ids are minted for every event.
  let pool = '';
  let used = 0;
  let lastMs = 0;
  let counter = 0;
  let prefixMs = -1;
  let prefix = '';

  /** Position in the pool of the digits for one id. */
  function draw(): number {
    if (used + digitsPerId > pool.length) {
      pool = Buffer.from(random(poolBytes)).toString('hex');
      used = 0;
    }
    used += digitsPerId;
    return used - digitsPerId;
  }

  function format(ms: number, bits12: number, position: number): string {
    if (ms !== prefixMs) {
      const time = ms.toString(16).padStart(12, '0');
      prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`;
      prefixMs = ms;
    }
    const variant = variants[Number.parseInt(pool.charAt(position + 3), 16) & 3];
    return `${prefix}${hexOf12Bits[bits12]}-${variant}${pool.slice(position + 4, position + 7)}-${pool.slice(position + 7, position + 19)}`;
  }

  return (atMs) => {
    const position = draw();
    const random12 = Number.parseInt(pool.slice(position, position + 3), 16);
    if (atMs !== undefined) return format(atMs, random12, position);
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
    return format(lastMs, counter, position);
  };
}

/** The time that a UUIDv7 carries, in milliseconds since 1970. */
export function uuidV7TimeMs(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}
