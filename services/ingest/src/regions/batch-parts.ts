import type { BatchAnswer } from '@meridian/contract/collect';
import { type CollectOutcome, type DropReason, type Elsewhere, type Taken, unavailable } from '../collect.ts';
import { isErrorCode } from './hand-on-events.ts';

/*
 * Of a batch a region gets the elements whose websites it stores, each at the place that it has in the whole, and null in the place of every
 * other: an index means the same in every region.
 */

/** The body of the part that has the elements at `indexes`. */
export function toPart(elements: readonly unknown[], indexes: readonly number[]): string {
  const part: unknown[] = elements.map(() => null);
  for (const index of indexes) part[index] = elements[index];
  return JSON.stringify(part);
}

/** What becomes of such a null. */
export const elsewhere: Elsewhere = { kind: 'elsewhere' };

/** Puts what an answer says of the elements at `indexes` in their places. */
export function settlePart(outcomes: CollectOutcome[], indexes: readonly number[], answer: BatchAnswer): void {
  const taken: Taken = { kind: 'taken', cache: answer.cache, isKept: false };
  const others = new Map<number, CollectOutcome>();
  for (const { index, response } of answer.details) {
    const { code, message } = response.error;
    others.set(index, isErrorCode(code) ? { kind: 'rejected', code, message } : unavailable);
  }
  for (const { index, reason } of answer.ignoredDetails)
    others.set(index, { kind: 'dropped', reason: reason as DropReason });
  for (const index of indexes) outcomes[index] = others.get(index) ?? taken;
}

/**
 * The same for a request that came before, when a part of it was stored here (`answer`, of the elements at `indexes`). What would be accepted
 * only now was not.
 */
export function settleRepeated(outcomes: CollectOutcome[], indexes: readonly number[], answer: BatchAnswer): void {
  for (const [index, { kind }] of outcomes.entries()) if (kind === 'accepted') outcomes[index] = unavailable;
  settlePart(outcomes, indexes, answer);
}
