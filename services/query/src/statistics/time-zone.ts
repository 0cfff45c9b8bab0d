const hourMs = 3_600_000;

/** No zone has ever been further from UTC. */
const offsetMaxMs = 16 * hourMs;

/** Shorter than the time between any two changes of one zone's clock (7 days, Boa Vista in October 2000). */
const cellMs = 4 * 24 * hourMs;

/** Cells remembered per zone, and zones remembered; a formatter holds some 30 kB. */
const cellsMax = 10_000;
const zonesMax = 64;

/** A stretch of time in which a zone's clock runs `offsetMs` ahead of UTC. `endMs` is the first instant after it. */
export type Span = { startMs: number; endMs: number; offsetMs: number };

/** The clock of one time zone. "Local" milliseconds are what the clock shows, counted as if it were UTC. */
export type TimeZone = {
  isUtc: boolean;
  offsetMsAt(ms: number): number;
  /** The spans that make up [fromMs, toMs], cut off there, in order; every border inside is a change of the clock. */
  spans(fromMs: number, toMs: number): Span[];
  /** First instant at which the clock shows `localMs` or has jumped over it. */
  firstInstantAt(localMs: number): number;
  /** Last instant at which the clock shows `localMs` or is about to jump over it. */
  lastInstantAt(localMs: number): number;
};

const known = new Map<string, TimeZone>();

/** The zone of an IANA name or alias in any letter case, as Intl knows it; null for anything else. */
export function findTimeZone(name: string): TimeZone | null {
  const key = name.toLowerCase();
  const zone = known.get(key) ?? createTimeZone(name);
  if (zone === null) return null;
  // Least recently used goes first.
  known.delete(key);
  known.set(key, zone);
  for (const oldest of known.keys()) if (known.size > zonesMax) known.delete(oldest);
  return zone;
}

function createTimeZone(name: string): TimeZone | null {
  const formatter = createFormatter(name);
  if (formatter === null) return null;
  const piecesOf = createCells((ms) => parseOffset(formatter.format(ms)));

  function spans(fromMs: number, toMs: number): Span[] {
    const found: Span[] = [];
    for (let cell = Math.floor(fromMs / cellMs); cell * cellMs <= toMs; cell++)
      for (const { startMs, offsetMs } of piecesOf(cell)) {
        const last = found.at(-1);
        if (startMs > toMs || (last?.offsetMs === offsetMs && startMs > fromMs)) continue;
        if (startMs <= fromMs) found.length = 0;
        else if (last !== undefined) last.endMs = startMs;
        found.push({ startMs: Math.max(startMs, fromMs), endMs: toMs + 1, offsetMs });
      }
    return found;
  }

  const around = (localMs: number) => spans(localMs - offsetMaxMs, localMs + offsetMaxMs);
  return {
    isUtc: /^(Etc\/)?(UTC|GMT)$/.test(formatter.resolvedOptions().timeZone),
    offsetMsAt: (ms) => spans(ms, ms)[0]?.offsetMs ?? 0,
    spans,
    firstInstantAt(localMs) {
      for (const { startMs, endMs, offsetMs } of around(localMs)) {
        const ms = Math.max(startMs, localMs - offsetMs);
        if (ms < endMs) return ms;
      }
      throw new RangeError(`No instant for local time ${localMs}`);
    },
    lastInstantAt(localMs) {
      for (const { startMs, endMs, offsetMs } of around(localMs).reverse()) {
        const ms = Math.min(endMs - 1, localMs - offsetMs);
        if (ms >= startMs) return ms;
      }
      throw new RangeError(`No instant for local time ${localMs}`);
    },
  };
}

/** A formatter that prints the zone's offset; null when Intl does not know the zone by name. */
function createFormatter(name: string): Intl.DateTimeFormat | null {
  // Newer engines take offsets such as +05:30 as well, which are no names.
  if (!/^[a-z][\w+/-]{0,63}$/i.test(name)) return null;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  } catch {
    return null;
  }
}

/** '11/14/2023, GMT-03:30' -> -12,600,000 ms; seconds occur before 1972. */
function parseOffset(text: string): number {
  const [, sign, hours, minutes, seconds = 0] = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text) ?? [];
  if (sign === undefined) return 0;
  const ms = Number(hours) * hourMs + Number(minutes) * 60_000 + Number(seconds) * 1_000;
  return sign === '-' ? -ms : ms;
}

type Piece = { startMs: number; offsetMs: number };

/** Remembers for each cell of time the one or two pieces of constant offset that it holds. */
function createCells(offsetMsAt: (ms: number) => number): (cell: number) => Piece[] {
  const cells = new Map<number, Piece[]>();
  return (cell) => {
    const held = cells.get(cell);
    if (held !== undefined) return held;
    const startMs = cell * cellMs;
    const endMs = startMs + cellMs;
    const first = { startMs, offsetMs: offsetMsAt(startMs) };
    const offsetMs = offsetMsAt(endMs);
    const pieces =
      offsetMs === first.offsetMs ? [first] : [first, { startMs: findChange(startMs, endMs, offsetMsAt), offsetMs }];
    if (cells.size >= cellsMax) cells.clear();
    cells.set(cell, pieces);
    return pieces;
  };
}

/** The instant in (fromMs, toMs] from which the offset is that of `toMs`; clocks change at full seconds. */
function findChange(fromMs: number, toMs: number, offsetMsAt: (ms: number) => number): number {
  const after = offsetMsAt(toMs);
  let low = fromMs / 1_000;
  let high = toMs / 1_000;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMsAt(middle * 1_000) === after) high = middle;
    else low = middle;
  }
  return high * 1_000;
}
