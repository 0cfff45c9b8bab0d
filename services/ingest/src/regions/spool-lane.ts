import { randomUUID } from 'node:crypto';
import { BatchAnswer } from '@meridian/contract/collect';
import { PeerError } from '@meridian/peers/peers';
import type { ForwardSpool, SpooledRequest } from '@meridian/queue/forward-spool';
import type { Logger } from '@meridian/runtime/logger';
import type { CollectCounts } from '../collect-counts.ts';
import type { HandOnEvents } from './hand-on-events.ts';

const lookMs = 1_000;
/** Longer than one delivery takes. */
const leaseMs = 30_000;

/**
 * Delivers what waits for other regions, oldest first, one collector at a time for each region, as soon as they can be reached. A delivery that
 * is broken off, or whose answer is lost, is done again under its key. Looks every second; gives the function that ends it.
 */
export function startSpoolLane(deps: {
  regions: readonly string[];
  spool: ForwardSpool;
  deliver: HandOnEvents['deliver'];
  counts: CollectCounts;
  logger: Logger;
}): () => void {
  const { regions, spool, deliver, counts, logger } = deps;
  const owner = randomUUID();
  let isEnded = false;

  /** False: the region is not to be reached now. */
  async function deliverOldest(region: string): Promise<boolean> {
    const oldest = await spool.oldest(region);
    if (!oldest || !(await spool.lease(region, owner, leaseMs))) return false;
    const { id, request } = oldest;
    const { status, body } = await deliver(region, request);
    if (status === 409) return false; // an earlier delivery is still at work
    if (status === 200) await settle(region, request, body.toString());
    // Such as the events of a website that was deleted meanwhile.
    else logger.warn({ region, status, requestId: request.headers['x-request-id'] }, 'a kept request was refused');
    await spool.remove(region, id);
    return true;
  }

  /** Elements that could not be taken then are kept again, under a key of their own. */
  async function settle(region: string, request: SpooledRequest, answer: string): Promise<void> {
    if (request.route === 'send') {
      counts.handedOn++;
      return;
    }
    const { processed, details } = BatchAnswer.parse(JSON.parse(answer));
    counts.handedOn += processed;
    const elements: unknown[] = JSON.parse(request.body);
    const open = details.filter(({ response }) => response.error.status === 503).map(({ index }) => elements[index]);
    if (open.length > 0)
      await spool.keep(region, { ...request, body: JSON.stringify(open), idempotencyKey: randomUUID() });
  }

  async function deliverAll(region: string): Promise<void> {
    try {
      while (!isEnded && (await deliverOldest(region)));
    } catch (err) {
      // A region that is away has been told of when the request was kept.
      if (!(err instanceof PeerError)) logger.warn({ err, region }, 'what waits for another region was not delivered');
    }
  }

  const running = new Set<string>();
  const timer = setInterval(() => {
    for (const region of regions) {
      if (running.has(region)) continue;
      running.add(region);
      void deliverAll(region).finally(() => running.delete(region));
    }
  }, lookMs).unref();
  counts.spooled = async () => {
    const waiting = await Promise.all(regions.map((region) => spool.waiting(region)));
    return waiting.reduce((sum, count) => sum + count, 0);
  };
  return () => {
    isEnded = true;
    clearInterval(timer);
  };
}
