import type { EventRows } from '@meridian/queue/batch-rows';
import { eventTypeCode } from '@meridian/queue/collected-event';

/**
 * Numbers of rows, in order: `identifies` become properties of sessions; the others, by the UTC year of their event
 * time, rows of events.
 */
type SortedRows = { byYear: Map<number, number[]>; identifies: number[] };

export function sortRows({ eventTypes, createdAtMs }: EventRows, numbers: readonly number[]): SortedRows {
  const byYear = new Map<number, number[]>();
  const identifies: number[] = [];
  let year = { from: 0, to: 0, rows: identifies };
  for (const number of numbers) {
    if (eventTypes[number] === eventTypeCode.identify) {
      identifies.push(number);
      continue;
    }
    const at = createdAtMs[number] ?? 0;
    if (at < year.from || at >= year.to) {
      const name = new Date(at).getUTCFullYear();
      year = { from: Date.UTC(name, 0), to: Date.UTC(name + 1, 0), rows: byYear.get(name) ?? [] };
      byYear.set(name, year.rows);
    }
    year.rows.push(number);
  }
  return { byYear, identifies };
}

/** The bytes of some rows: what lies together is one piece. */
export function piecesOf({ bytes, starts }: EventRows, numbers: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let first = 0;
  for (let i = 1; i <= numbers.length; i++) {
    const last = numbers[i - 1] ?? 0;
    if (numbers[i] === last + 1) continue;
    pieces.push(bytes.subarray(starts[numbers[first] ?? 0], starts[last + 1]));
    first = i;
  }
  return pieces;
}
