import { createHash } from 'node:crypto';
import { type CollectedEvent, decodeEvents, eventFormatVersion } from './collected-event.ts';

/** Entries of the log that are stored together. */
export type LogBatch = {
  /** Names the batch by the ids of its entries: the same entries always have the same token. */
  token: string;
  /** Ids of the entries, for each partition. */
  entryIds: string[][];
  events: CollectedEvent[];
  /** Entries whose bytes make no sense: they become dead letters. */
  unreadable: { partition: number; reason: string; entry: string }[];
  /** An earlier attempt may have stored some of the events: ask which before storing. */
  mayBeStored: boolean;
};

/** An entry as Redis gives it: its id, and names and values of its fields. */
export type RawEntry = [id: Buffer, fields: Buffer[]];

/**
 * Reads entries. Those of another format version than this program knows are left out: they stay with the log until a worker
 * that knows it takes them over. `token`: of the batch when it was begun before.
 */
export function toLogBatch(entries: readonly (readonly RawEntry[])[], mayBeStored: boolean, token?: string): LogBatch {
  const batch: LogBatch = { token: '', entryIds: entries.map(() => []), events: [], unreadable: [], mayBeStored };
  for (const [partition, list] of entries.entries()) for (const entry of list) addEntry(batch, partition, entry);
  batch.token = token ?? tokenOf(batch.entryIds);
  return batch;
}

function addEntry(batch: LogBatch, partition: number, [id, fields]: RawEntry): void {
  const value = (name: string): Buffer | undefined =>
    fields[fields.findIndex((f, i) => i % 2 === 0 && f.equals(Buffer.from(name))) + 1];
  const version = value('v')?.toString();
  if (version !== undefined && /^\d+$/.test(version) && version !== eventFormatVersion) return;
  batch.entryIds[partition]?.push(id.toString());
  try {
    for (const event of decodeEvents(value('events') ?? Buffer.alloc(0), value('visitIds') ?? Buffer.alloc(0)))
      batch.events.push(event);
  } catch (error) {
    const entry = JSON.stringify(fields.map((field) => field.toString('base64')));
    batch.unreadable.push({ partition, reason: `unreadable entry: ${String(error)}`, entry });
  }
}

function tokenOf(entryIds: readonly (readonly string[])[]): string {
  return createHash('sha256').update(JSON.stringify(entryIds)).digest('base64url');
}
