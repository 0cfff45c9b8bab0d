import type { BatchAnswer } from '@meridian/contract/collect';
import type { CollectOutcome, Elsewhere, Rejection, Taken } from '../collect.ts';

/*
 * Of a batch a region gets the elements whose websites it stores, each at the place that it has in the whole, and null
 * in the place of every other: an index means the same in every region.
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
  for (const detail of answer.details) others.set(detail.index, { kind: 'rejected before', detail });
  for (const { index, reason } of answer.ignoredDetails) others.set(index, { kind: 'ignored before', reason });
  for (const index of indexes) outcomes[index] = others.get(index) ?? taken;
}

/** Deliberately not `service-unavailable`: that would make another region send the event again by itself. */
const notUnderThisKey: Rejection = {
  kind: 'rejected',
  code: 'idempotency-key-reused',
  message: 'Idempotency-Key: the event was not accepted with the first request; send it under another key',
};

/**
 * The same for a request that came before, when a part of it was stored here (`answer`, of the elements at `indexes`).
 * What would be accepted only now was not, and cannot be under this key.
 */
export function settleRepeated(outcomes: CollectOutcome[], indexes: readonly number[], answer: BatchAnswer): void {
  for (const [index, { kind }] of outcomes.entries()) if (kind === 'accepted') outcomes[index] = notUnderThisKey;
  settlePart(outcomes, indexes, answer);
}
