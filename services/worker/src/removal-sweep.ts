import type { Jobs } from '@meridian/queue/jobs';
import type { Registry } from '@meridian/registry/registry';
import type { Logger } from '@meridian/runtime/logger';

const everyMs = 60_000;

/**
 * Orders every removal that the registry does not know to be completed, at once and then every minute: purges of
 * deleted websites and resets. The order may have been lost with the process that should have given it. Gives the
 * function that ends it.
 */
export function startRemovalSweep(deps: {
  registry: Pick<Registry, 'listUnpurgedWebsites' | 'listPendingResets'>;
  jobs: Pick<Jobs, 'purgeWebsite' | 'resetWebsite'>;
  region: string;
  logger: Logger;
}): () => void {
  const { registry, jobs, region, logger } = deps;

  async function sweep(): Promise<void> {
    try {
      for (const websiteId of await registry.listUnpurgedWebsites(region)) await jobs.purgeWebsite(websiteId);
      for (const { id, before } of await registry.listPendingResets(region)) await jobs.resetWebsite(id, before);
    } catch (err) {
      logger.warn({ err }, 'open removals were not looked for');
    }
  }

  void sweep();
  const timer = setInterval(() => void sweep(), everyMs);
  return () => clearInterval(timer);
}
