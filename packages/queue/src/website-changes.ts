import type { Redis } from 'ioredis';

/*
 * News for caches: what they remember of a website is old. News may be missed (a listener that is not connected hears
 * nothing), so that a cache must also forget by itself.
 */
const channel = 'website-changes';

/** To be called after the registry has changed: created, updated, reset or deleted. */
export async function publishWebsiteChange(redis: Redis, websiteId: string): Promise<void> {
  await redis.publish(channel, websiteId);
}

/**
 * `redis`: a connection that only listens. Resolves when it does; after a lost connection it listens again by itself.
 */
export async function subscribeWebsiteChanges(redis: Redis, onChange: (websiteId: string) => void): Promise<void> {
  redis.on('message', (from: string, websiteId: string) => {
    if (from === channel) onChange(websiteId);
  });
  await redis.subscribe(channel);
}
