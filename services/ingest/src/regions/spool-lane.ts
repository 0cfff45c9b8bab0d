import { randomUUID } from 'node:crypto';
import { errorStatus } from '@meridian/contract/errors';
import { PeerError } from '@meridian/peers/peers';
import type { ForwardSpool, SpooledEntry, SpooledRequest } from '@meridian/queue/forward-spool';
import type { Logger } from '@meridian/runtime/logger';
import type { CollectOutcome } from '../collect.ts';
import type { CollectCounts } from '../collect-counts.ts';
import { settlePart } from './batch-parts.ts';
import type { Delivered, HandOnEvents } from './hand-on-events.ts';

const lookMs = 1_000;
/** Delivered at once. */
const together = 32;
/** Longer than a delivery takes, which is given up after ten seconds. */
const leaseMs = 30_000;
/** Of an element that can be taken later, whatever its code. */
const unavailableStatus = errorStatus['service-unavailable'];

/**
 * Delivers what waits for other regions, oldest first, one collector at a time for each region, as soon as they can be
 * reached. A delivery that is broken off, or whose answer is lost, is done again under its key. Looks every second, as
 * long as the process lives.
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

  /** Those of each region that were told of. */
  const unreadable = new Map<string, ReadonlySet<string>>();

  /** Whether the region takes anything now; null where that is not known. */
  async function deliverEntry(region: string, entry: SpooledEntry): Promise<boolean | null> {
    const { request } = entry;
    // Of a later version, in an upgrade that is under way or taken back: it waits for that.
    if (!request) return null;
    try {
      const answer = await deliver(region, request);
      const { storedCount, rest } = outcomeOf(request, answer);
      // Such as the events of a website that was deleted meanwhile.
      if (answer.code !== null)
        logger.warn(
          { region, code: answer.code, requestId: request.headers['x-request-id'] },
          'a kept request was refused',
        );
      await spool.settle(region, entry, rest);
      counts.handedOn += storedCount;
      return rest === null || storedCount > 0;
    } catch (error) {
      if (error instanceof PeerError) return false; // told of when the request was kept
      throw error;
    }
  }

  /** Once through what is there now. What comes meanwhile, and what goes again, waits for the next time. */
  async function deliverAll(region: string): Promise<void> {
    const lastId = await spool.lastId(region);
    const told = unreadable.get(region);
    const found = new Set<string>();
    for (let afterId = '-'; lastId !== null && afterId !== lastId; ) {
      if (!(await spool.lease(region, owner, leaseMs))) return;
      const entries = await spool.list(region, afterId, lastId, together);
      if (entries.length === 0) break;
      const takes = await Promise.all(entries.map((entry) => deliverEntry(region, entry)));
      for (const { id, request } of entries) {
        if (request) continue;
        found.add(id);
        if (!told?.has(id)) logger.error({ region, entry: id }, 'a kept request cannot be read');
      }
      // One that is refused every time keeps nothing behind it waiting.
      if (takes.includes(false) && !takes.includes(true)) {
        unreadable.set(region, new Set([...(told ?? []), ...found]));
        return;
      }
      afterId = entries.at(-1)?.id ?? lastId;
    }
    unreadable.set(region, found);
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

/**
 * How many events the region has stored, and the elements that it could not take then: they go again, under a key of
 * their own.
 */
function outcomeOf(request: SpooledRequest, answer: Delivered): { storedCount: number; rest: SpooledRequest | null } {
  if (answer.code !== null) return { storedCount: 0, rest: null };
  const { told } = answer;
  if (told.route === 'send') return { storedCount: told.isStored ? 1 : 0, rest: null };
  const elements: unknown[] = JSON.parse(request.body);
  const outcomes: CollectOutcome[] = [];
  // null has the place of another region's element, of which the answer may tell as well.
  settlePart(
    outcomes,
    [...elements.keys()].filter((index) => elements[index] !== null),
    told.answer,
  );
  const open: unknown[] = [];
  let storedCount = 0;
  outcomes.forEach((outcome, index) => {
    if (outcome.kind === 'taken') storedCount++;
    else if (outcome.kind === 'rejected before' && outcome.detail.response.error.status === unavailableStatus)
      open.push(elements[index]);
  });
  const rest = { ...request, body: JSON.stringify(open), idempotencyKey: randomUUID() };
  return { storedCount, rest: open.length > 0 ? rest : null };
}
