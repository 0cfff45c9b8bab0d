import { PeerError } from '@meridian/peers/peers';
import { type CollectOutcome, unavailable } from '../collect.ts';
import type { ForeignAnswer, Handed, HandOnEvents } from './hand-on-events.ts';

/**
 * Gives the elements of a batch whose websites are stored in other regions to them, each region's together, and puts what became of each in
 * its place. A region that cannot be reached costs only its own events (docs/semantics.md "Regions"), unless `isRepeatable`: then
 * the whole batch is refused and its repetition, under the same key, is whole. Gives that refusal, or null.
 */
export async function settleForeign(
  outcomes: CollectOutcome[],
  elements: readonly unknown[],
  batch: { handOn: HandOnEvents; handed: Handed; isRepeatable: boolean },
): Promise<ForeignAnswer | 'unavailable' | null> {
  const { handOn, handed, isRepeatable } = batch;
  const indexes = new Map<string, number[]>();
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.kind !== 'foreign') continue;
    const ofRegion = indexes.get(outcome.region);
    if (ofRegion) ofRegion.push(index);
    else indexes.set(outcome.region, [index]);
  }
  const answers = await Promise.all(
    [...indexes].map(([region, own]) =>
      handOn
        .batch(
          region,
          own.map((index) => elements[index]),
          handed,
        )
        .catch((error: unknown) => {
          if (!(error instanceof PeerError)) throw error;
          return 'unavailable' as const;
        }),
    ),
  );
  let position = 0;
  for (const own of indexes.values()) {
    const answer = answers[position++];
    if (Array.isArray(answer)) for (const [i, index] of own.entries()) outcomes[index] = answer[i] ?? unavailable;
    else if (isRepeatable && answer) return answer;
    else for (const index of own) outcomes[index] = unavailable;
  }
  return null;
}
