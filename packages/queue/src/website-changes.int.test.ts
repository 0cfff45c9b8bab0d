import { randomUUID } from 'node:crypto';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import { expect, test } from 'vitest';
import { connectProducer, connectWorker } from './test-redis.ts';
import {
  publishKeyChange,
  publishWebsiteChange,
  subscribeKeyChanges,
  subscribeWebsiteChanges,
} from './website-changes.ts';

test('news of websites and of keys reach those who listen to them, on one connection', async () => {
  const { url } = await createRedisDatabase();
  const [redis, listener] = [await connectProducer(url), await connectWorker(url)];
  const [websites, keys]: [string[], string[]] = [[], []];
  await subscribeWebsiteChanges(listener, (id) => websites.push(id));
  await subscribeKeyChanges(listener, (id) => keys.push(id));
  const [websiteId, keyId] = [randomUUID(), randomUUID()];
  await publishWebsiteChange(redis, websiteId);
  await publishKeyChange(redis, keyId);
  await expect.poll(() => keys).toContain(keyId);
  expect(websites).toContain(websiteId);
  expect(websites).not.toContain(keyId);
  redis.disconnect();
  listener.disconnect();
});
