/** Events of one entry at most. */
export const entryEventsMax = 500;
/** An entry whose rows are so long, unpacked, takes no more of them. */
export const entryBytesMax = 1_048_576;

/** Version of the format of an entry's rows; every entry of the log carries the one it is written in. */
export const eventFormatVersion = '3';

/** Names of an entry's fields, in their order. The append script (append-script.ts) writes the first four. */
const fieldNames = [
  'v', // the format version
  'n', // number of events
  'rows', // the events, see packed-rows.ts
  'visitIds', // 16 bytes for each event, in their order
  'mayBeStored', // only where an earlier attempt may have stored the events (log-batch.ts)
] as const;
type FieldName = (typeof fieldNames)[number];

/** Names and values of an entry of this version. `rows`: packed. */
export function toEntryFields(entry: {
  eventCount: number;
  rows: Buffer;
  visitIds: Buffer;
  mayBeStored?: boolean;
}): (string | Buffer)[] {
  const { eventCount, rows, visitIds, mayBeStored = false } = entry;
  const values = [eventFormatVersion, String(eventCount), rows, visitIds, ...(mayBeStored ? ['1'] : [])];
  return values.flatMap((value, position) => [fieldNames[position] ?? '', value]);
}

const nothing = Buffer.alloc(0);

/** The value of a field among an entry's names and values; nothing when it is missing or not in its place. */
export function valueAt(fields: readonly Buffer[], name: FieldName): Buffer {
  const position = 2 * fieldNames.indexOf(name);
  return (fields[position]?.toString('latin1') === name && fields[position + 1]) || nothing;
}

/** The events that an entry says it holds; 0 where it says nothing that can be. `fields`: its names and values. */
export function entryEventCount(fields: readonly Buffer[]): number {
  const count = Number(valueAt(fields, 'n'));
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}
