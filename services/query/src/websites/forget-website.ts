import type { WebsitePlace } from '@meridian/registry/rows';
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

/**
 * The same for websites that went with their account or team, wherever they are stored: what is in another region only
 * the workers there can purge, and they look for it themselves.
 */
export async function forgetWebsites(
  deps: Pick<QueryDeps, 'redis' | 'jobs' | 'logger' | 'config'>,
  websites: readonly WebsitePlace[],
): Promise<void> {
  const here = websites.filter(({ region }) => region === deps.config.region);
  await Promise.all(here.map(({ id }) => forgetWebsite(deps, id)));
}
