import type { Jobs } from '@meridian/queue/jobs';
import type { Registry } from '@meridian/registry/registry';
import type { Logger } from '@meridian/runtime/logger';

const everyMs = 60_000;

/**
 * Orders the purge of every deleted website that was not purged, at once and then every minute: the order may have been lost
 * with the process that should have given it. Gives the function that ends it.
 */
export function startPurgeSweep(deps: {
  registry: Pick<Registry, 'listUnpurgedWebsites'>;
  jobs: Pick<Jobs, 'purgeWebsite'>;
  region: string;
  logger: Logger;
}): () => void {
  const { registry, jobs, region, logger } = deps;

  async function sweep(): Promise<void> {
    try {
      for (const websiteId of await registry.listUnpurgedWebsites(region)) await jobs.purgeWebsite(websiteId);
    } catch (err) {
      logger.warn({ err }, 'deleted websites were not looked for');
    }
  }

  void sweep();
  const timer = setInterval(() => void sweep(), everyMs);
  return () => clearInterval(timer);
}
