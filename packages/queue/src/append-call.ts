import type { ByteWriter, ByteWriters } from './byte-writer.ts';
import { encodeEvent } from './collected-event.ts';
import { entryBytesMax, entryEventsMax } from './log-entry.ts';
import { eventCountsKey, eventsKey, idempotencyKey, type Lane, partitionOf } from './log-keys.ts';
import { packRows, unpackRows } from './packed-rows.ts';
import type { Append, AppendedVisits, AppendResult, Placement } from './placement.ts';
import { writePlacement } from './placement-bytes.ts';
import type { UuidV7Minter } from './uuid-v7.ts';

const callEventsMax = 500;
const callBytesMax = 1_048_576;

type Settle = { resolve(result: AppendResult): void; reject(error: Error): void };

/** One entry of the log in the making. `slots`: for each event the place of its visit id in the unit. */
type Entry = { partition: number; lane: Lane; rows: ByteWriter; placements: ByteWriter; slots: number[] };

/** What the script does or leaves as a whole: one idempotent append, or all appends that are not. */
type Unit = {
  idempotency?: NonNullable<Append['idempotency']> & { partition: number };
  entries: Entry[];
  appends: (Settle & { firstSlot: number; count: number })[];
  slotCount: number;
};

/** The script's answer to one unit, see append-script.ts. */
export type UnitAnswer = [kind: Buffer, ...Buffer[]];

/** Appends that travel to Redis in one call of the append script. */
export type AppendCall = ReturnType<typeof createAppendCall>;

/** `writers`, `ids`: shared by the calls of one event log. `backfillBeforeMs`: events from before take that lane. */
export function createAppendCall({
  partitions,
  writers,
  ids,
  backfillBeforeMs,
}: {
  partitions: number;
  writers: ByteWriters;
  ids: UuidV7Minter;
  backfillBeforeMs: number;
}) {
  const plain: Unit = { entries: [], appends: [], slotCount: 0 };
  const units: Unit[] = [plain];
  let appendCount = 0;
  let eventCount = 0;
  let byteCount = 0;
  let settled = false;
  const eventId = Buffer.alloc(16);

  function add({ placements, idempotency }: Append, settle: Settle): void {
    let unit = plain;
    if (idempotency) {
      // Not by its events: of a repetition others may be accepted, and its record must be found all the same.
      const partition = partitionOf(idempotency.key, partitions);
      unit = { idempotency: { ...idempotency, partition }, entries: [], appends: [], slotCount: 0 };
      units.push(unit);
    }
    const { slotCount: firstSlot } = unit;
    const { length: count } = placements;
    unit.appends.push({ resolve: settle.resolve, reject: settle.reject, firstSlot, count });
    unit.slotCount += count;
    appendCount += 1;
    eventCount += count;
    if (areInTimeOrder(placements)) {
      let slot = firstSlot;
      for (const placement of placements) addEvent(unit, placement, slot++, firstSlot);
      return;
    }
    for (const index of inTimeOrder(placements)) {
      const placement = placements[index];
      if (placement) addEvent(unit, placement, firstSlot + index, firstSlot);
    }
  }

  /** `firstSlot`: of the append. */
  function addEvent(unit: Unit, placement: Placement, slot: number, firstSlot: number): void {
    const { websiteId, createdAtMs } = placement.event;
    const lane = createdAtMs < backfillBeforeMs ? 'backfill' : 'live';
    const entry = entryFor(unit, partitionOf(websiteId, partitions), lane, firstSlot);
    const lengthBefore = entry.rows.length();
    ids.writeNext(eventId, 0);
    encodeEvent(entry.rows, placement.event, eventId);
    writePlacement(entry.placements, placement, ids);
    entry.slots.push(slot);
    byteCount += entry.rows.length() - lengthBefore;
  }

  function entryFor({ entries }: Unit, partition: number, lane: Lane, firstSlot: number): Entry {
    for (let i = entries.length - 1; i >= 0; i--) {
      const entry = entries[i];
      if (entry?.partition !== partition) continue;
      const hasRoom = entry.slots.length < entryEventsMax && entry.rows.length() < entryBytesMax;
      if (entry.lane === lane && hasRoom) return entry;
      // Entries are placed one after the other: in front of one with older events of the append is no place for it.
      if (entry.lane === lane || (entry.slots.at(-1) ?? 0) >= firstSlot) break;
    }
    const entry = { partition, lane, rows: writers.take(), placements: writers.take(), slots: [] };
    entries.push(entry);
    return entry;
  }

  /** Keys and arguments as append-script.ts reads them, after deadline and clock. To be taken once. */
  function command(): { keys: string[]; args: (string | number | Buffer)[] } {
    const keys: string[] = [eventCountsKey];
    const args: (string | number | Buffer)[] = [];
    for (const { idempotency, entries, appends, slotCount } of units) {
      if (appends.length === 0) continue;
      if (idempotency) keys.push(idempotencyKey(idempotency.partition, idempotency.key));
      const draft = idempotency?.draft === undefined ? '' : packRows(Buffer.from(idempotency.draft));
      // In the order in which the script places the events.
      const lastAt = idempotency ? entries.flatMap(({ slots }) => slots).indexOf(slotCount - 1) + 1 : 0;
      args.push(idempotency?.bodyHash ?? '', draft, lastAt, entries.length);
      for (const entry of entries) {
        keys.push(eventsKey(entry.partition, entry.lane));
        args.push(Buffer.from(entry.placements.bytes()), packRows(entry.rows.bytes()));
        writers.giveBack(entry.placements);
        writers.giveBack(entry.rows);
      }
    }
    return { keys, args };
  }

  /**
   * Gives every append its result. `answers`: one for each unit that the command carries; a unit without a sound one is
   * rejected.
   */
  function settle(answers: readonly UnitAnswer[]): void {
    if (settled) return;
    settled = true;
    const sent = units.filter((unit) => unit.appends.length > 0);
    for (const [index, unit] of sent.entries()) {
      try {
        settleUnit(unit, answers[index]);
      } catch (cause) {
        rejectUnit(unit, new Error('The event log gave an answer that makes no sense', { cause }));
      }
    }
  }

  /** Rejects every append that has no result yet. */
  function fail(error: Error): void {
    settled = true;
    for (const unit of units) rejectUnit(unit, error);
  }

  return {
    openedAt: performance.now(),
    add,
    command,
    settle,
    fail,
    isSettled: () => settled,
    appendCount: () => appendCount,
    eventCount: () => eventCount,
    isFull: () => eventCount >= callEventsMax || byteCount >= callBytesMax,
  };
}

function rejectUnit(unit: Unit, error: Error): void {
  for (const { reject } of unit.appends) reject(error);
}

function settleUnit(unit: Unit, answer: UnitAnswer | undefined): void {
  if (!answer) throw new Error('no answer');
  const known = resultOfKnown(answer);
  if (known) {
    for (const { resolve } of unit.appends) resolve(known);
    return;
  }
  const [, ...parts] = answer;
  const slots = unit.entries.flatMap((entry) => entry.slots);
  const { visitIds, lastAtMs } = visitsBySlot(slots, parts);
  for (const { resolve, firstSlot, count } of unit.appends) {
    const end = firstSlot + count;
    resolve({
      ok: true,
      visitIds: visitIds.subarray(16 * firstSlot, 16 * end),
      lastAtMs: lastAtMs.subarray(firstSlot, end),
    });
  }
}

/** What the script says of a request whose key is known; null where it is not. */
export function resultOfKnown([kind, draft, visit, order, visitIds]: UnitAnswer): AppendResult | null {
  const what = kind.toString();
  if (what === 'reused') return { ok: false, reason: 'idempotency-key-reused' };
  if (what !== 'repeated') return null;
  if (!draft) throw new Error('no draft');
  if (visit) {
    const visits = visitsBySlot(visit.length > 0 ? [0] : [], [visit]);
    return { ok: true, ...visits, replayOf: unpackRows(draft).toString() };
  }
  // The version before has kept the draft as it was, and all visit ids, with the slots in their order. Of the visit's
  // last event it is known that it was not before its first one, whose time is in the id.
  const slots = JSON.parse(String(order)) as number[];
  const lastAt = 16 * slots.indexOf(slots.length - 1);
  const lastId = visitIds?.subarray(lastAt, lastAt + 16) ?? Buffer.alloc(0);
  const lastAtMs = lastId.length > 0 ? [lastId.readUIntBE(0, 6)] : [];
  return {
    ok: true,
    visitIds: new Uint8Array(lastId),
    lastAtMs: new Float64Array(lastAtMs),
    replayOf: draft.toString(),
  };
}

/** `packed`: visits as the script tells them; the first belongs to the first slot named, and so on. */
function visitsBySlot(slots: readonly number[], packed: readonly Buffer[]): AppendedVisits {
  const visitIds = new Uint8Array(16 * slots.length);
  const lastAtMs = new Float64Array(slots.length);
  let next = 0;
  for (const buffer of packed) {
    for (let start = 0; start < buffer.length; start += 24) {
      const slot = slots[next] ?? 0;
      for (let i = 0; i < 16; i++) visitIds[16 * slot + i] = buffer[start + i] ?? 0;
      lastAtMs[slot] = buffer.readDoubleBE(start + 16);
      next += 1;
    }
  }
  return { visitIds, lastAtMs };
}

function areInTimeOrder(placements: readonly Placement[]): boolean {
  for (let i = 1; i < placements.length; i++) if (atMs(placements, i) < atMs(placements, i - 1)) return false;
  return true;
}

/**
 * Indexes in the order of the events' times; equal times in the order given (docs/semantics.md "Sessions and visits": a
 * batch is placed in time order).
 */
function inTimeOrder(placements: readonly Placement[]): number[] {
  return placements.map((_, index) => index).sort((a, b) => atMs(placements, a) - atMs(placements, b));
}

const atMs = (placements: readonly Placement[], index: number): number => placements[index]?.event.createdAtMs ?? 0;
