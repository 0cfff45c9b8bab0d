import type { QueryDeps } from '../query-env.ts';
import { announceWebsite } from './announce-website.ts';

/**
 * After the registry has deleted the website: collectors forget it and its events are purged. An order that cannot be
 * placed now is no failure of the deletion: the worker looks for deleted websites that were never purged.
 */
export async function forgetWebsite(
  deps: Pick<QueryDeps, 'redis' | 'jobs' | 'logger'>,
  websiteId: string,
): Promise<void> {
  await announceWebsite(deps, websiteId);
  await deps.jobs
    .purgeWebsite(websiteId)
    .catch((err: unknown) => deps.logger.warn({ err, websiteId }, 'purge not ordered'));
}
