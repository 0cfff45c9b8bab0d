import { PeerError } from '@meridian/peers/peers';
import { type CollectOutcome, type Taken, unavailable } from '../collect.ts';
import { settlePart, toPart } from './batch-parts.ts';
import type { ForeignAnswer, Handed, HandOnEvents } from './hand-on-events.ts';

const waiting: Taken = { kind: 'taken', cache: null, isKept: true };

/**
 * Gives the elements of a batch whose websites are stored in other regions to them, each region's together, and puts
 * what became of each in its place. A region that cannot be reached costs only its own events (docs/semantics.md
 * "Regions"), unless the batch has a key: then it is refused as a whole and its repetition is whole. Gives that
 * refusal, or null.
 */
export async function settleForeign(
  outcomes: CollectOutcome[],
  elements: readonly unknown[],
  { handOn, handed }: { handOn: HandOnEvents; handed: Handed },
): Promise<ForeignAnswer | 'unavailable' | null> {
  const indexes = new Map<string, number[]>();
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.kind !== 'foreign') continue;
    const ofRegion = indexes.get(outcome.region);
    if (ofRegion) ofRegion.push(index);
    else indexes.set(outcome.region, [index]);
  }
  const parts = await Promise.all(
    [...indexes].map(async ([region, own]) => {
      const answer = await handOn.batch(region, toPart(elements, own), handed).catch((error: unknown) => {
        if (!(error instanceof PeerError)) throw error;
        return 'unavailable' as const;
      });
      return { own, answer };
    }),
  );
  for (const { own, answer } of parts) {
    if (answer === null) for (const index of own) outcomes[index] = waiting;
    else if (answer !== 'unavailable' && answer.code === null && answer.told.route === 'batch')
      settlePart(outcomes, own, answer.told.answer);
    else if (handed.identity) return answer;
    else for (const index of own) outcomes[index] = unavailable;
  }
  return null;
}
