import {
  createdAtMsOf,
  eventRowEnd,
  eventTypeOf,
  isSameWebsite,
  setVisitId,
  websiteHashOf,
  websiteIdOf,
} from '@meridian/warehouse/event-row';
import { eventTypeCode } from './collected-event.ts';
import { packedRowsLength } from './packed-rows.ts';

/**
 * Rows of events as the warehouse takes them, one behind the other, and what has to be known of each to sort them, by
 * the row's number. It is read while the row is at hand: to look at the rows of a large block once more costs more than
 * all else that is done with them.
 */
export type EventRows = {
  count: number;
  bytes: Buffer;
  /** Row i lies from `starts[i]` to `starts[i + 1]`. */
  starts: Uint32Array;
  websiteIds: string[];
  /** Index in `websiteIds`. */
  websites: Uint32Array;
  eventTypes: Uint8Array;
  createdAtMs: Float64Array;
};

const visitIdBytes = 16;
const eventTypes = new Set<number>(Object.values(eventTypeCode));

/**
 * Finds the rows of entries, whose `packed` is already unpacked in `bytes`, one for each visit id, and fills these in.
 * Throws when the bytes of an entry are not exactly so many rows.
 */
export function findRows(bytes: Buffer, entries: readonly { packed: Buffer; visitIds: Buffer }[]): EventRows {
  const count = entries.reduce((sum, { visitIds }) => sum + Math.ceil(visitIds.length / visitIdBytes), 0);
  const starts = new Uint32Array(count + 1);
  const websites = new Uint32Array(count);
  const types = new Uint8Array(count);
  const createdAtMs = new Float64Array(count);
  const numbering = createWebsiteNumbering(bytes);
  let row = 0;
  let at = 0;
  let end = 0;
  for (const { packed, visitIds } of entries) {
    if (visitIds.length === 0 || visitIds.length % visitIdBytes !== 0) throw new Error('not a list of visit ids');
    end += packedRowsLength(packed);
    for (let from = 0; from < visitIds.length; from += visitIdBytes) {
      const next = eventRowEnd(bytes, at);
      const eventType = eventTypeOf(bytes, at);
      if (next > end || !eventTypes.has(eventType)) throw new Error('not the row of an event');
      starts[row] = at;
      websites[row] = numbering.numberOf(at);
      types[row] = eventType;
      createdAtMs[row] = createdAtMsOf(bytes, at);
      setVisitId(bytes, at, visitIds, from);
      at = next;
      row += 1;
    }
    if (at !== end) throw new Error('more rows than visit ids');
  }
  starts[row] = at;
  return { count, bytes, starts, websiteIds: numbering.websiteIds(), websites, eventTypes: types, createdAtMs };
}

/** Numbers the websites in the order in which their first rows are shown. No text is made but one for each website. */
function createWebsiteNumbering(bytes: Buffer) {
  /** Where each website's first row begins. */
  const firstRows: number[] = [];
  /** A website's number by its hash; on a collision by the next free hash. */
  const numbers = new Map<number, number>();

  return {
    /** Of the website of the row that begins there. */
    numberOf(start: number): number {
      for (let hash = websiteHashOf(bytes, start); ; hash++) {
        const number = numbers.get(hash);
        if (number === undefined) {
          numbers.set(hash, firstRows.length);
          return firstRows.push(start) - 1;
        }
        if (isSameWebsite(bytes, start, firstRows[number] ?? 0)) return number;
      }
    },
    websiteIds: (): string[] => firstRows.map((start) => websiteIdOf(bytes, start)),
  };
}
