import { randomUUID } from 'node:crypto';
import { PeerError } from '@meridian/peers/peers';
import type { ForwardSpool, SpooledEntry, SpooledRequest } from '@meridian/queue/forward-spool';
import type { Logger } from '@meridian/runtime/logger';
import type { CollectOutcome } from '../collect.ts';
import type { CollectCounts } from '../collect-counts.ts';
import { settlePart } from './batch-parts.ts';
import type { HandOnEvents } from './hand-on-events.ts';

const lookMs = 1_000;
/** Delivered at once. */
const together = 32;
/** Longer than a delivery takes, which is given up after ten seconds. */
const leaseMs = 30_000;

/**
 * Delivers what waits for other regions, oldest first, one collector at a time for each region, as soon as they can be reached. A delivery that
 * is broken off, or whose answer is lost, is done again under its key. Looks every second, as long as the process lives.
 */
export function startSpoolLane(deps: {
  regions: readonly string[];
  spool: ForwardSpool;
  deliver: HandOnEvents['deliver'];
  counts: Pick<CollectCounts, 'handedOn'>;
  logger: Logger;
}): void {
  const { regions, spool, deliver, counts, logger } = deps;
  const owner = randomUUID();

  const unreadable = new Set<string>();

  /** Whether there is no more to do with the entry here: false while the region cannot take it. */
  async function deliverEntry(region: string, entry: SpooledEntry): Promise<boolean> {
    const { request } = entry;
    if (!request) {
      // Of a later version, in an upgrade that is under way or taken back: it waits for that.
      if (!unreadable.has(entry.id)) logger.error({ region, entry: entry.id }, 'a kept request cannot be read');
      unreadable.add(entry.id);
      return true;
    }
    try {
      const answer = await deliver(region, request);
      if (answer.code === 'idempotency-key-in-use') return false; // an earlier delivery is still at work
      const { taken, rest } = outcomeOf(request, answer);
      // Such as the events of a website that was deleted meanwhile.
      if (answer.code !== null)
        logger.warn(
          { region, code: answer.code, requestId: request.headers['x-request-id'] },
          'a kept request was refused',
        );
      await spool.settle(region, entry, rest);
      counts.handedOn += taken;
      return true;
    } catch (error) {
      if (error instanceof PeerError) return false; // told of when the request was kept
      throw error;
    }
  }

  async function deliverAll(region: string): Promise<void> {
    let afterId = '-';
    for (;;) {
      const entries = await spool.list(region, afterId, together);
      if (entries.length === 0 || !(await spool.lease(region, owner, leaseMs))) return;
      const done = await Promise.all(entries.map((entry) => deliverEntry(region, entry)));
      // One that is refused every time keeps nothing behind it waiting.
      if (!done.includes(true)) return;
      afterId = entries.at(-1)?.id ?? '-';
    }
  }

  const running = new Set<string>();
  setInterval(() => {
    for (const region of regions) {
      if (running.has(region)) continue;
      running.add(region);
      deliverAll(region)
        .catch((err: unknown) => logger.warn({ err, region }, 'what waits for another region was not delivered'))
        .finally(() => running.delete(region));
    }
  }, lookMs).unref();
}

/** How many events the region has taken, and the elements that it could not take then: they go again, under a key of their own. */
function outcomeOf(
  request: SpooledRequest,
  answer: Awaited<ReturnType<HandOnEvents['deliver']>>,
): { taken: number; rest: SpooledRequest | null } {
  if (answer.code !== null) return { taken: 0, rest: null };
  const { told } = answer;
  if (!('details' in told)) return { taken: 'sessionId' in told ? 1 : 0, rest: null };
  const elements: unknown[] = JSON.parse(request.body);
  const outcomes: CollectOutcome[] = [];
  // null has the place of another region's element, of which the answer may tell as well.
  settlePart(
    outcomes,
    [...elements.keys()].filter((index) => elements[index] !== null),
    told,
  );
  const open: unknown[] = [];
  let taken = 0;
  outcomes.forEach((outcome, index) => {
    if (outcome.kind === 'taken') taken++;
    else if (outcome.kind === 'rejected' && outcome.code === 'service-unavailable') open.push(elements[index]);
  });
  const rest = { ...request, body: JSON.stringify(open), idempotencyKey: randomUUID() };
  return { taken, rest: open.length > 0 ? rest : null };
}
