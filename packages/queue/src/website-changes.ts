import type { Redis } from 'ioredis';

/*
 * News for caches: what they remember of a website or of an API key is old. News may be missed (a listener that is not connected
 * hears nothing), so that a cache must also forget by itself.
 */
const websiteChannel = 'website-changes';
const keyChannel = 'key-changes';

/** To be called after the registry has changed: created, updated, reset or deleted. */
export async function publishWebsiteChange(redis: Redis, websiteId: string): Promise<void> {
  await redis.publish(websiteChannel, websiteId);
}

/** `redis`: a connection that only listens. Resolves when it does; after a lost connection it listens again by itself. */
export function subscribeWebsiteChanges(redis: Redis, onChange: (websiteId: string) => void): Promise<void> {
  return subscribe(redis, websiteChannel, onChange);
}

/** `keyId`: the registry's id of the API key that was deleted. */
export async function publishKeyChange(redis: Redis, keyId: string): Promise<void> {
  await redis.publish(keyChannel, keyId);
}

/** As `subscribeWebsiteChanges`; both may use one connection. */
export function subscribeKeyChanges(redis: Redis, onChange: (keyId: string) => void): Promise<void> {
  return subscribe(redis, keyChannel, onChange);
}

async function subscribe(redis: Redis, channel: string, onChange: (id: string) => void): Promise<void> {
  redis.on('message', (from: string, id: string) => {
    if (from === channel) onChange(id);
  });
  await redis.subscribe(channel);
}
