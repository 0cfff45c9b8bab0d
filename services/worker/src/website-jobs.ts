import { setTimeout as delay } from 'node:timers/promises';
import type { JobHandlers } from '@meridian/queue/jobs';
import { getLogMark, isConsumedUpTo } from '@meridian/queue/log-marks';
import type { Registry } from '@meridian/registry/registry';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import type { Redis } from 'ioredis';
import { routeLifeMs } from './website-gate.ts';

const pauseMs = 250;

export type WebsiteJobsDeps = {
  registry: Pick<Registry, 'findWebsiteRoute' | 'markWebsitePurged' | 'markWebsiteReset'>;
  warehouse: Pick<Warehouse, 'purgeWebsite' | 'purgeCollectedBefore'>;
  redis: Redis;
  partitions: number;
};

/** What is removed from the warehouse after the registry has changed. No answer counts it meanwhile. */
export function createWebsiteJobs({ registry, warehouse, redis, partitions }: WebsiteJobsDeps): JobHandlers {
  /**
   * Waits until nothing is on its way any more that a worker judged before the registry changed, and would store after a removal.
   * After the life of a remembered route every worker judges by the change; what was judged before lies in front of the log's end
   * at that moment, and leaves the log only when it is stored.
   */
  async function untilNothingIsOnItsWay(signal: AbortSignal): Promise<void> {
    await delay(routeLifeMs, undefined, { signal });
    const mark = await getLogMark(redis, partitions);
    while (!(await isConsumedUpTo(redis, mark))) await delay(pauseMs, undefined, { signal });
  }

  return {
    async purgeWebsite(websiteId, signal) {
      const route = await registry.findWebsiteRoute(websiteId);
      // Also what a copy of the registry says that does not know of the deletion yet: then the workers here do not either.
      if (route && !route.deleted) throw new Error('The website to purge is not deleted');
      await untilNothingIsOnItsWay(signal);
      await warehouse.purgeWebsite(websiteId);
      await registry.markWebsitePurged(websiteId);
    },

    async resetWebsite(websiteId, before, signal) {
      const route = await registry.findWebsiteRoute(websiteId);
      if (!route || route.deleted) return; // the purge removes more
      if (!route.resetAt || route.resetAt < before) throw new Error('The website to reset is not marked as reset');
      await untilNothingIsOnItsWay(signal);
      await warehouse.purgeCollectedBefore(websiteId, before);
      await registry.markWebsiteReset(websiteId, before);
    },
  };
}
