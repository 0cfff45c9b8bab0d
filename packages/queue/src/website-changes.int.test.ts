import { randomUUID } from 'node:crypto';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import { expect, test } from 'vitest';
import { connectProducer, connectWorker } from './test-redis.ts';
import { publishWebsiteChange, subscribeWebsiteChanges } from './website-changes.ts';

test('news of a website reach those who listen', async () => {
  const { url } = await createRedisDatabase();
  const [redis, listener] = [await connectProducer(url), await connectWorker(url)];
  const changed: string[] = [];
  await subscribeWebsiteChanges(listener, (id) => changed.push(id));
  const websiteId = randomUUID();
  await publishWebsiteChange(redis, websiteId);
  await expect.poll(() => changed).toContain(websiteId);
  redis.disconnect();
  listener.disconnect();
});
