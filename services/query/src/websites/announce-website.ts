import { publishWebsiteChange } from '@meridian/queue/website-changes';
import type { QueryDeps } from '../query-env.ts';

/** Tells the collectors that what they remember of the website is old. Untold they notice by themselves, only later. */
export async function announceWebsite(
  { redis, logger }: Pick<QueryDeps, 'redis' | 'logger'>,
  websiteId: string,
): Promise<void> {
  await publishWebsiteChange(redis, websiteId).catch((err: unknown) =>
    logger.warn({ err, websiteId }, 'website change not announced'),
  );
}
