import { setTimeout as delay } from 'node:timers/promises';
import { visitLifeMs } from '@meridian/queue/append-script';
import { createDeadLetters } from '@meridian/queue/dead-letters';
import { forgetIdempotencyRecords } from '@meridian/queue/idempotency-records';
import type { JobHandlers } from '@meridian/queue/jobs';
import { withLease } from '@meridian/queue/lease';
import { untilHandedOutIsStored } from '@meridian/queue/log-marks';
import { forgetVisits } from '@meridian/queue/visit-state';
import type { Registry } from '@meridian/registry/registry';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import type { Redis } from 'ioredis';
import { statusLifeMs } from './website-gate.ts';

/** Of a worker that was killed another one repeats the job after about as long. */
const removalLeaseMs = 30_000;
/** Of a session from which nothing came for so long Redis has no visits any more. */
const visitsGoneMs = 2 * visitLifeMs;

export type WebsiteJobsDeps = {
  registry: Pick<Registry, 'findWebsiteStatus' | 'markWebsitePurged' | 'markWebsiteReset'>;
  warehouse: Pick<Warehouse, 'findRecentSessions' | 'purgeWebsite' | 'purgeCollectedBefore' | 'repairRollups'>;
  redis: Redis;
  partitions: number;
  /** The worker's own. */
  region: string;
  now?: () => Date;
};

/** What is removed from the warehouse and from Redis after the registry has changed. No answer counts it meanwhile. */
export function createWebsiteJobs({
  registry,
  warehouse,
  redis,
  partitions,
  region,
  now = () => new Date(),
}: WebsiteJobsDeps): JobHandlers {
  /**
   * Waits until nothing is on its way any more that a worker judged before the registry changed, and would store after
   * a removal. After the life of a remembered status every worker judges by the change; what was judged before was
   * handed out before.
   */
  async function untilNothingIsOnItsWay(signal: AbortSignal): Promise<void> {
    await delay(statusLifeMs, undefined, { signal });
    await untilHandedOutIsStored(redis, partitions, signal);
  }

  /**
   * Before the rows go: they tell which sessions had visits. With `before` only what was left behind until then: a
   * visit to which an event has come since is stored under its id, and would be counted twice if it were opened anew.
   */
  async function forgetInRedis(websiteId: string, before?: Date): Promise<void> {
    const sessionIds = await warehouse.findRecentSessions(websiteId, new Date(now().getTime() - visitsGoneMs));
    await forgetVisits(
      redis,
      partitions,
      sessionIds.map((sessionId) => ({ websiteId, sessionId })),
      before,
    );
    await forgetIdempotencyRecords(redis, websiteId, before);
    await createDeadLetters({ redis, partitions }).removeWebsite(websiteId, before);
  }

  /**
   * Of a website one removal at a time: of two that put its rollups right each would take what the other one did for
   * new differences.
   */
  const alone = (websiteId: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>) =>
    withLease(redis, { key: `website-removal:${websiteId}`, ms: removalLeaseMs, signal }, work);

  return {
    purgeWebsite: (websiteId, stopped) =>
      alone(websiteId, stopped, async (signal) => {
        const status = await registry.findWebsiteStatus(websiteId);
        if (status && status.region !== region) return; // its events are not here, and are not purged by saying so
        // Also what a copy of the registry says that does not know of the deletion yet: then the workers here do not
        // either.
        if (status && !status.deleted) throw new Error('The website to purge is not deleted');
        await untilNothingIsOnItsWay(signal);
        await forgetInRedis(websiteId);
        await warehouse.purgeWebsite(websiteId);
        await registry.markWebsitePurged(websiteId);
      }),

    resetWebsite: (websiteId, before, stopped) =>
      alone(websiteId, stopped, async (signal) => {
        const status = await registry.findWebsiteStatus(websiteId);
        if (!status || status.deleted || status.region !== region) return; // the purge removes more
        if (!status.resetAt || status.resetAt < before) throw new Error('The website to reset is not marked as reset');
        if (status.resetAt > before) return; // a later reset, which has a job of its own, removes more
        await untilNothingIsOnItsWay(signal);
        await forgetInRedis(websiteId, before);
        await warehouse.purgeCollectedBefore(websiteId, before);
        // Rollups that are made or put right while a block is stored without its views have that block, and get it once
        // more when it is sent again: so they are right when nothing differs behind that.
        do await untilHandedOutIsStored(redis, partitions, signal);
        while (await warehouse.repairRollups(websiteId));
        await registry.markWebsiteReset(websiteId, before);
      }),
  };
}
