import { randomBytes } from 'node:crypto';

const poolSize = 8_192;
const randomPerId = 10;
const lastCounter = 0xfff;
const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

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

  /** Position in the pool of the random bytes for one id. */
  const drawRandom = (): number => {
    if (used + randomPerId > pool.length) {
      pool = random(poolSize);
      used = 0;
    }
    const position = used;
    used += randomPerId;
    return position;
  };
  const byteAt = (position: number): number => pool[position] ?? 0;
  const hexAt = (position: number): string => hexOfByte[byteAt(position)] ?? '';

  return (atMs) => {
    const position = drawRandom();
    const random12 = ((byteAt(position) & 0x0f) << 8) | byteAt(position + 1);
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

  function format(ms: number, bits12: number, position: number): string {
    const time = ms.toString(16).padStart(12, '0');
    const variant = hexOfByte[(byteAt(position + 2) & 0x3f) | 0x80] ?? '';
    return (
      `${time.slice(0, 8)}-${time.slice(8)}-7${hexOfByte[bits12 >> 8]?.[1]}${hexOfByte[bits12 & 0xff]}-` +
      `${variant}${hexAt(position + 3)}-${hexAt(position + 4)}${hexAt(position + 5)}${hexAt(position + 6)}` +
      `${hexAt(position + 7)}${hexAt(position + 8)}${hexAt(position + 9)}`
    );
  }
}

/** The time that a UUIDv7 carries, in milliseconds since 1970. */
export function uuidV7TimeMs(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}
