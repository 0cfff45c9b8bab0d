import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEventLog } from './event-log.ts';
import { createJobs, createJobWorker } from './jobs.ts';
import { createLogConsumer } from './log-consumer.ts';
import { eventsKey } from './log-keys.ts';
import { pendingEvent } from './test-events.ts';
import { connectProducer, connectWorker, type OwnRedis, patience, startOwnRedis } from './test-redis.ts';

// A cluster of one node, which has all slots: it refuses what touches several at once, as every cluster does.

const partitions = 8;
let cluster: OwnRedis;

beforeAll(async () => {
  cluster = await startOwnRedis({ 'cluster-enabled': 'yes' });
  const redis = new Redis(cluster.url);
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16383);
  while (!String(await redis.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) await delay(50);
  redis.disconnect();
});
afterAll(() => cluster.remove());

test('a Redis Cluster takes no event, and a worker says why', async () => {
  const redis = await connectProducer(cluster.url, patience.commandTimeout);
  const log = createEventLog({ redis, partitions, appendMaxWaitMs: patience.appendMaxWaitMs });
  const placements = [{ event: pendingEvent({ websiteId: randomUUID(), sessionId: randomUUID() }) }];
  await expect(log.append({ placements })).rejects.toMatchObject({ cause: { message: /CROSSSLOT/ } });
  for (let partition = 0; partition < partitions; partition++) expect(await redis.xlen(eventsKey(partition))).toBe(0);

  const [commands, waitingRedis] = [await connectWorker(cluster.url), await connectWorker(cluster.url)];
  const consumer = createLogConsumer({
    redis: commands,
    waitingRedis,
    partitions,
    consumer: 'one',
    reclaimIdleMs: 15_000,
  });
  await expect(consumer.next({ eventsMax: 10, maxWaitMs: 10 })).rejects.toThrow(/one Redis, not a Redis Cluster/);
  for (const one of [redis, commands, waitingRedis]) one.disconnect();
});

test('jobs are ordered and done on a node of a Redis Cluster', async () => {
  const jobs = createJobs(cluster.url);
  const websiteId = randomUUID();
  const done: string[] = [];
  const worker = createJobWorker(
    cluster.url,
    { purgeWebsite: async (id) => void done.push(id), resetWebsite: async () => {} },
    () => {},
  );
  await jobs.purgeWebsite(websiteId);
  await expect.poll(() => done, { timeout: 20_000 }).toEqual([websiteId]);
  await Promise.all([jobs.close(), worker.close()]);
});
