import type { EventRow } from '@meridian/warehouse/event-row';
import { isEventRow } from './event-entry.ts';
import { entryEventCount } from './log-entry.ts';

/** A dead letter as it lies in Redis. */
export type StoredLetter = {
  /** `<partition>:<streamId>` */
  id: string;
  partition: number;
  streamId: string;
  /** ISO 8601, when it became a dead letter. */
  time: string;
  reason: string;
  content: LetterContent;
  /** As it is counted in event-counts.ts. */
  eventCount: number;
};

export type LetterContent =
  | { kind: 'event'; event: EventRow }
  /** An entry of the log that could not be read: names and values of its fields. */
  | { kind: 'entry'; fields: Buffer[] }
  /** Neither; `text` is what there is. */
  | { kind: 'damaged'; why: string; text: string };

/** Reads a letter as the consumer's commit writes it. `fields`: names and values. */
export function readLetter(partition: number, streamId: string, fields: readonly string[]): StoredLetter {
  const fieldOf = (name: string): string | undefined => {
    const at = fields.findIndex((field, i) => i % 2 === 0 && field === name);
    return at < 0 ? undefined : fields[at + 1];
  };
  const content = readContent(fieldOf('event'), fieldOf('entry'));
  return {
    id: `${partition}:${streamId}`,
    partition,
    streamId,
    time: fieldOf('time') ?? '',
    reason: fieldOf('reason') ?? '',
    content,
    eventCount: content.kind === 'entry' ? entryEventCount(content.fields) : 1,
  };
}

function readContent(event: string | undefined, entry: string | undefined): LetterContent {
  const text = event ?? entry ?? '';
  try {
    const value: unknown = JSON.parse(text);
    if (event !== undefined) {
      if (isEventRow(value)) return { kind: 'event', event: value };
      return { kind: 'damaged', why: 'is not an event of this version', text };
    }
    if (isTexts(value) && value.length > 0 && value.length % 2 === 0)
      return { kind: 'entry', fields: value.map((field) => Buffer.from(field, 'base64')) };
  } catch {
    // no JSON
  }
  return { kind: 'damaged', why: 'holds neither an event nor an entry', text };
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
