import { createHash } from 'node:crypto';
import { type EventRows, findRows } from './batch-rows.ts';
import { entryEventCount, eventFormatVersion, valueAt } from './log-entry.ts';
import type { Lane } from './log-keys.ts';
import { unpackRows } from './packed-rows.ts';

/** Entries of the log that are stored together. */
export type LogBatch = {
  lane: Lane;
  /** Names the batch by the ids of its entries: the same entries always have the same token. */
  token: string;
  /** Ids of the entries, for each partition. */
  entryIds: string[][];
  rows: EventRows;
  /** Entries whose bytes make no sense: they become dead letters. */
  unreadable: { partition: number; reason: string; entry: string; eventCount: number }[];
  /** Some of the events may be stored under another token than the batch's: ask which before storing. */
  mayBeStored: boolean;
  /**
   * Of a batch that another worker began, and may have stored under its token: when its last entry came, before that.
   * Redis's clock, Unix ms.
   */
  begunAfterMs: number | null;
};

/** An entry as Redis gives it: its id, and names and values of its fields. */
export type RawEntry = [id: Buffer, fields: Buffer[]];

type Entry = { partition: number; fields: Buffer[]; packed: Buffer; visitIds: Buffer };

/**
 * Reads entries. Those of another format version than this program knows are left out: they stay with the log until a
 * worker that knows it takes them over. `token`: of the batch when it was begun before.
 */
export function toLogBatch(
  lane: Lane,
  entries: readonly (readonly RawEntry[])[],
  mayBeStored: boolean,
  token?: string,
): LogBatch {
  const entryIds = entries.map((): string[] => []);
  const known: Entry[] = [];
  let isReplay = false;
  for (const [partition, list] of entries.entries()) {
    for (const [id, fields] of list) {
      const version = valueAt(fields, 'v');
      if (/^\d+$/.test(version.toString()) && version.toString() !== eventFormatVersion) continue;
      entryIds[partition]?.push(id.toString());
      if (valueAt(fields, 'mayBeStored').length > 0) isReplay = true;
      known.push({ partition, fields, packed: valueAt(fields, 'rows'), visitIds: valueAt(fields, 'visitIds') });
    }
  }
  return {
    lane,
    token: token ?? tokenOf(lane, entryIds),
    entryIds,
    mayBeStored: mayBeStored || isReplay,
    begunAfterMs: token === undefined ? null : Math.max(...entryIds.flatMap((ids) => ids.slice(-1).map(timeOf))),
    ...readEntries(known),
  };
}

/** All entries at once; one by one where that makes no sense, to find out which of them it is. */
function readEntries(entries: readonly Entry[]): Pick<LogBatch, 'rows' | 'unreadable'> {
  try {
    return { rows: findRows(Buffer.concat(entries.map((entry) => unpackRows(entry.packed))), entries), unreadable: [] };
  } catch {
    const readable: Entry[] = [];
    const parts: Buffer[] = [];
    const unreadable: LogBatch['unreadable'] = [];
    for (const entry of entries) {
      try {
        const part = unpackRows(entry.packed);
        findRows(part, [entry]);
        parts.push(part);
        readable.push(entry);
      } catch (error) {
        const text = JSON.stringify(entry.fields.map((field) => field.toString('base64')));
        const eventCount = entryEventCount(entry.fields);
        unreadable.push({
          partition: entry.partition,
          reason: `unreadable entry: ${String(error)}`,
          entry: text,
          eventCount,
        });
      }
    }
    return { rows: findRows(Buffer.concat(parts), readable), unreadable };
  }
}

/** Ids of entries are <Unix ms>-<number>. */
const timeOf = (id: string): number => Number.parseInt(id, 10);

/** Trap: what one call appends to several streams has the same id in each of them. */
function tokenOf(lane: Lane, entryIds: readonly (readonly string[])[]): string {
  const name = lane === 'live' ? entryIds : [lane, entryIds];
  return createHash('sha256').update(JSON.stringify(name)).digest('base64url');
}
