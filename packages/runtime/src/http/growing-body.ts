import type { ErrorCode } from '@meridian/contract/errors';

/**
 * What all bodies that are on their way to a process may take of its memory, which may be 512 MB. 25 batches of the
 * largest size fit, or hundreds of usual ones: many times of what a collector treats in a second.
 */
const allMaxBytes = 134_217_728;

/**
 * What the unpacked ones may take of it: of those a few KB become 5 MB, and while they are answered slowly they keep
 * out nobody whose body came as it is.
 */
const unpackedMaxBytes = allMaxBytes / 2;

/** Why a body was given up: it is too large, or others needed the memory. */
export type BodyRefusal = Extract<ErrorCode, 'payload-too-large' | 'service-unavailable'>;

/** In buffers. Of the process, whose memory is one, and not of a service in it. */
let heldBytes = 0;

/** Of them in unpacked bodies. */
let unpackedBytes = 0;

/** Bodies of which more is to come, first that of which nothing has come for the longest. */
const growing = new Set<GrowingBody>();

/**
 * A body of at most `maxBytes` as it comes. When all together are too much, those are given up of which nothing has
 * come for the longest: whoever holds bodies back keeps no other out. Every one must be let go of in the end.
 */
export class GrowingBody {
  /** Why it was given up, if it was. */
  refusal: BodyRefusal | null = null;
  private readonly maxBytes: number;
  private readonly onRefusal: ((refusal: BodyRefusal) => void) | undefined;
  private buffer: Buffer = nothing;
  private bytes = 0;
  private isUnpacked = false;

  constructor(maxBytes: number, onRefusal?: (refusal: BodyRefusal) => void) {
    this.maxBytes = maxBytes;
    this.onRefusal = onRefusal;
  }

  /** Takes the next part, unless the body was given up. */
  add(part: Buffer): void {
    if (this.refusal) return;
    const bytes = this.bytes + part.length;
    if (bytes > this.maxBytes) {
      this.refuse('payload-too-large');
      return;
    }
    // Parts are not kept as they come, but for the first, mostly the only one: each costs some 400 bytes besides, and
    // may be one byte.
    if (this.bytes === 0) this.keep(part);
    else {
      if (bytes > this.buffer.length) this.resize(Math.min(2 * bytes, this.maxBytes));
      this.buffer.set(part, this.bytes);
    }
    this.bytes = bytes;
    growing.delete(this);
    growing.add(this);
    if (heldBytes > allMaxBytes) makeRoom();
  }

  /** The body when all of it has come; it counts until it is let go of. Null when it was given up. */
  whole(): Buffer | null {
    if (this.refusal) return null;
    growing.delete(this);
    if (this.buffer.length > this.bytes) this.resize(this.bytes);
    return this.buffer;
  }

  /** What it unpacks to takes the place of the whole body. False when there is no room: then it was given up. */
  unpackTo(unpacked: Buffer): boolean {
    this.isUnpacked = true;
    unpackedBytes += this.buffer.length;
    this.keep(unpacked);
    if (heldBytes > allMaxBytes) makeRoom();
    if (heldBytes <= allMaxBytes && unpackedBytes <= unpackedMaxBytes) return true;
    this.refuse('service-unavailable');
    return false;
  }

  /** No more of it is wanted, or comes. */
  letGo(): void {
    growing.delete(this);
    this.bytes = 0;
    this.keep(nothing);
    this.isUnpacked = false;
  }

  /** Gives it up. */
  refuse(refusal: BodyRefusal): void {
    this.refusal = refusal;
    this.letGo();
    this.onRefusal?.(refusal);
  }

  private resize(length: number): void {
    const resized = Buffer.allocUnsafe(length);
    this.buffer.copy(resized, 0, 0, this.bytes);
    this.keep(resized);
  }

  private keep(buffer: Buffer): void {
    heldBytes += buffer.length - this.buffer.length;
    if (this.isUnpacked) unpackedBytes += buffer.length - this.buffer.length;
    this.buffer = buffer;
  }
}

const nothing = Buffer.alloc(0);

function makeRoom(): void {
  for (const body of growing) {
    if (heldBytes <= allMaxBytes) return;
    body.refuse('service-unavailable');
  }
}
