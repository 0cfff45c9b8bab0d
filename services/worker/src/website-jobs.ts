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

/** What is removed from the warehouse after the registry has changed. */
export function createWebsiteJobs({ registry, warehouse, redis, partitions }: WebsiteJobsDeps): JobHandlers {
  /**
   * Removes at once what is stored, and once more what was on its way: a batch may have been judged just before the registry
   * changed, and be stored after the first removal. After the life of a remembered route every worker judges by the change; whatever
   * was judged before lies in front of the log's end at that moment, and is gone from the log only when it is stored.
   */
  async function removeForGood(remove: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await remove();
    await delay(routeLifeMs, undefined, { signal });
    const mark = await getLogMark(redis, partitions);
    while (!(await isConsumedUpTo(redis, mark))) await delay(pauseMs, undefined, { signal });
    await remove();
  }

  return {
    async purgeWebsite(websiteId, signal) {
      const route = await registry.findWebsiteRoute(websiteId);
      // Also what a copy of the registry says that does not know of the deletion yet: then the workers here do not either.
      if (route && !route.deleted) throw new Error('The website to purge is not deleted');
      await removeForGood(() => warehouse.purgeWebsite(websiteId), signal);
      await registry.markWebsitePurged(websiteId);
    },

    async resetWebsite(websiteId, before, signal) {
      const route = await registry.findWebsiteRoute(websiteId);
      if (!route || route.deleted) return; // the purge removes more
      if (!route.resetAt || route.resetAt < before) throw new Error('The website to reset is not marked as reset');
      await removeForGood(() => warehouse.purgeCollectedBefore(websiteId, before), signal);
      await registry.markWebsiteReset(websiteId, before);
    },
  };
}
