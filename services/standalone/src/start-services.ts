import type { RequestListener } from 'node:http';
import { type CollectCounts, collectMetrics, createCollectCounts } from '@meridian/ingest/collect-counts';
import { createIngest } from '@meridian/ingest/create-ingest';
import { createPeers } from '@meridian/peers/peers';
import { toQueryConfig } from '@meridian/query/config';
import { createQueryListener, storeChecks } from '@meridian/query/create-query-listener';
import { createQueryCounts, type QueryCounts } from '@meridian/query/query-counts';
import { createFailedJobs } from '@meridian/queue/failed-jobs';
import { createJobs } from '@meridian/queue/jobs';
import type { Registry } from '@meridian/registry/registry';
import { logOutages } from '@meridian/runtime/log-outages';
import type { Logger } from '@meridian/runtime/logger';
import type { Life } from '@meridian/runtime/process';
import { connectRedis } from '@meridian/runtime/redis';
import { serveMetricsOf } from '@meridian/runtime/serve-metrics';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import { createWorker } from '@meridian/worker/create-worker';
import { regionMetrics } from '@meridian/worker/region-metrics';
import { createWorkerCounts, type WorkerCounts, workerMetrics } from '@meridian/worker/worker-counts';
import type { Redis } from 'ioredis';
import type { StandaloneConfig } from './config.ts';
import { orStartError } from './or-start-error.ts';

type ServiceParts = {
  life: Life;
  logger: Logger;
  registry: Registry;
  warehouse: Warehouse;
  redisUrl: string;
  settings: StandaloneConfig & { APP_SECRET: string };
  counts: Counts;
};

/** What each service counts. */
export type Counts = { collect: CollectCounts; worker: WorkerCounts; query: QueryCounts };

export function createCounts(): Counts {
  return { collect: createCollectCounts(), worker: createWorkerCounts(), query: createQueryCounts() };
}

/**
 * Collection, worker and query in this process, each with connections of its own, as they have when they run alone.
 * Returns what answers on the one port: collection first, everything else is the query API's.
 */
export async function startServices(parts: ServiceParts): Promise<RequestListener> {
  const { life, logger, registry, warehouse, redisUrl, settings, counts } = parts;
  const connections: Redis[] = [];
  const connect = (role: 'producer' | 'worker'): Redis => {
    const redis = connectRedis(redisUrl, { role, logger });
    connections.push(redis);
    return redis;
  };
  const jobs = createJobs(redisUrl);
  const failedJobs = createFailedJobs(redisUrl);
  const peers = createPeers(settings.REGION, settings);
  life.onStop('redis', async () => {
    for (const redis of connections) redis.disconnect();
    await Promise.all([jobs.close(), failedJobs.close(), peers.close()]);
  });

  const eventLog = connect('producer');
  // The rejection tells that there is no connection, and only the event why.
  let trouble: Error | undefined;
  eventLog.once('error', (error) => {
    trouble = error;
  });
  await orStartError('Redis (REDIS_URL) cannot be used', () =>
    eventLog.connect().catch((error) => {
      throw trouble ?? error;
    }),
  );
  const news = connect('worker');
  const collect = await orStartError('Collection cannot start', () =>
    createIngest({
      redis: eventLog,
      subscriber: news,
      registry,
      peers,
      config: settings,
      counts: counts.collect,
      logger,
    }),
  );

  const worker = createWorker({
    redis: connect('worker'),
    waitingRedis: { live: connect('worker'), backfill: connect('worker') },
    subscriber: connect('worker'),
    redisUrl,
    registry,
    warehouse,
    config: settings,
    logger,
    counts: counts.worker,
  });
  life.onStop('worker', worker.stop);
  worker.run().catch((err: unknown) => {
    logger.fatal({ err }, 'a batch can be neither stored nor set aside');
    void life.stop(1);
  });

  const limits = connect('producer');
  await limits.connect();
  logOutages({ life, logger }, storeChecks({ registry, warehouse, redis: limits }));
  await serveMetricsOf({ life, logger, config: settings }, [
    ...collectMetrics(counts.collect),
    ...workerMetrics(counts.worker),
    ...regionMetrics({ redis: limits, partitions: settings.EVENT_LOG_PARTITIONS, failedJobs }),
    ...counts.query.metrics(),
  ]);
  const query = createQueryListener({
    registry,
    warehouse,
    redis: limits,
    jobs,
    peers,
    config: toQueryConfig(settings),
    logger,
    counts: counts.query,
    now: () => new Date(),
  });
  return (request, response) => {
    if (!collect(request, response)) query(request, response);
  };
}
