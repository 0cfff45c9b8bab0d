import { performance } from 'node:perf_hooks';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { ErrorCode } from '@meridian/contract/errors';
import type { GrowingBody } from '@meridian/runtime/http/growing-body';

export type BodyFault = { code: ErrorCode; message: string };

export type Decompress = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

// In this thread: the thread pool may be busy with what takes long, such as passwords, and no more comes out here than
// a body may have.
export const decompressions = new Map<string, Decompress>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

/** What is unpacked first: as much as `/send` takes, and most batches have. */
const smallMaxBytes = 65_536;
/**
 * For how long a turn unpacks small ones, one of each kind at least; a large one and all the JSON come besides. Behind
 * as much others have their time.
 */
const turnMs = 10;
/** Large ones that wait. The work of some seconds; more are refused. */
const largeMax = 100;
/** Brotli streams that wait, of which few bytes take 6 ms before it is seen that they are large. More are refused. */
const brotliMax = 500;

/** A body that came whole, to be unpacked to at most `maxBytes`; `settle` hears of it unless it is refused. */
export type PackedBody = {
  growing: GrowingBody;
  packed: Buffer;
  decompress: Decompress;
  maxBytes: number;
  settle: (unpacked: Buffer | BodyFault) => void;
};

/**
 * Unpacks bodies in turns, in each small ones and at most one large: a few KB become 5 MB, and what many of them become
 * at once would take all memory, and all others' time. Which is large is seen by unpacking its start.
 * Brotli is behind the others, whose start is seen in a hundredth of the time.
 */
export function createUnpacker(): (body: PackedBody) => void {
  const arrived: PackedBody[] = [];
  const brotli: PackedBody[] = [];
  const large: PackedBody[] = [];
  let isRunning = false;
  /** Since when no other work was waited for. */
  let busySinceMs = 0;

  function takeTurn(): void {
    const untilMs = performance.now() + turnMs;
    unpackSome(arrived, untilMs);
    unpackSome(brotli, untilMs);
    const first = large.shift();
    if (first) give(first, unpack(first, first.maxBytes));
    // Behind the JSON of what was unpacked, which follows at once.
    setImmediate(() => {
      const nowMs = performance.now();
      if (nowMs - busySinceMs > turnMs) rest(2 * nowMs - busySinceMs, idleMs());
      else goOn();
    });
  }

  /**
   * Until then, or until the event loop has waited for anything to do: others have as much time. In one turn of the
   * event loop node accepts one connection, so what fills each of them keeps new clients out.
   */
  function rest(untilMs: number, idleBeforeMs: number): void {
    setTimeout(() => {
      if (performance.now() < untilMs && idleMs() === idleBeforeMs) return rest(untilMs, idleBeforeMs);
      busySinceMs = performance.now();
      goOn();
    }, 1);
  }

  function goOn(): void {
    isRunning = arrived.length + brotli.length + large.length > 0;
    if (isRunning) takeTurn();
  }

  function unpackSome(waiting: PackedBody[], untilMs: number): void {
    let done = 0;
    for (const body of waiting) {
      unpackSmall(body);
      done++;
      if (performance.now() > untilMs) break;
    }
    waiting.splice(0, done);
  }

  function unpackSmall(body: PackedBody): void {
    const unpacked = unpack(body, Math.min(smallMaxBytes, body.maxBytes));
    if (unpacked !== tooLarge || body.maxBytes <= smallMaxBytes) give(body, unpacked);
    else wait(body, large, largeMax);
  }

  return (body) => {
    if (body.decompress === brotliDecompressSync) wait(body, brotli, brotliMax);
    else arrived.push(body);
    if (isRunning) return;
    isRunning = true;
    busySinceMs = performance.now();
    setImmediate(goOn);
  };
}

/** For how long the event loop has had nothing to do since the process began. */
const idleMs = (): number => performance.eventLoopUtilization().idle;

function wait(body: PackedBody, waiting: PackedBody[], max: number): void {
  if (waiting.length < max) waiting.push(body);
  else body.growing.refuse('service-unavailable');
}

const tooLarge = Symbol('too large');

function give({ growing, settle }: PackedBody, unpacked: Buffer | BodyFault | typeof tooLarge): void {
  if (unpacked === tooLarge) growing.refuse('payload-too-large');
  else if (!Buffer.isBuffer(unpacked) || growing.unpackTo(unpacked)) settle(unpacked);
}

const largeWindow: BodyFault = {
  code: 'bad-request',
  message: 'The window of a brotli stream must not be larger than 4 MB.',
};

/**
 * Whether the stream asks for a window of 8 or 16 MB (RFC 7932, 9.1). The decoder fills the window before it gives the
 * first byte, so 77 bytes would cost 35 milliseconds, whatever the limit; encoders take 4 MB unless they are told
 * otherwise.
 */
function hasLargeWindow(body: Buffer): boolean {
  const first = body[0] ?? 0;
  return (first & 1) === 1 && ((first >> 1) & 7) > 5;
}

function unpack({ packed, decompress }: PackedBody, maxBytes: number): Buffer | BodyFault | typeof tooLarge {
  if (decompress === brotliDecompressSync && hasLargeWindow(packed)) return largeWindow;
  try {
    return decompress(packed, { maxOutputLength: maxBytes });
  } catch (error) {
    const isTooLarge = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return isTooLarge ? tooLarge : { code: 'bad-request', message: 'The compressed body cannot be read.' };
  }
}
