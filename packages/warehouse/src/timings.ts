import type { Timing } from './question.ts';

/** Of queries that ran side by side. */
export const sideBySide = (timings: readonly Timing[]): Timing =>
  added(timings, Math.max(0, ...timings.map(({ elapsedMs }) => elapsedMs)));

/** Of queries that ran one after the other. */
export const oneAfterTheOther = (timings: readonly Timing[]): Timing =>
  added(timings, sum(timings.map(({ elapsedMs }) => elapsedMs)));

const added = (timings: readonly Timing[], elapsedMs: number): Timing => ({
  elapsedMs,
  rowsRead: sum(timings.map(({ rowsRead }) => rowsRead)),
  bytesRead: sum(timings.map(({ bytesRead }) => bytesRead)),
});

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
