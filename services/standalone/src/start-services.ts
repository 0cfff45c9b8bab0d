import type { RequestListener } from 'node:http';
import { createIngest } from '@meridian/ingest/create-ingest';
import { createQueryListener } from '@meridian/query/create-query-listener';
import { createJobs } from '@meridian/queue/jobs';
import type { Registry } from '@meridian/registry/registry';
import type { Logger } from '@meridian/runtime/logger';
import type { Life } from '@meridian/runtime/process';
import { connectRedis } from '@meridian/runtime/redis';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import { startWorker } from '@meridian/worker/start-worker';
import type { StandaloneConfig } from './config.ts';

export type ServiceParts = {
  life: Life;
  logger: Logger;
  registry: Registry;
  warehouse: Warehouse;
  redisUrl: string;
  settings: StandaloneConfig & { APP_SECRET: string };
};

/**
 * Collection, worker and query in this process, each with connections of its own, as they have when they run alone.
 * Returns what answers on the one port: collection first, everything else is the query API's.
 */
export async function startServices(parts: ServiceParts): Promise<RequestListener> {
  const { life, logger, registry, warehouse, redisUrl, settings } = parts;
  const eventLogRedis = connectRedis(redisUrl, { role: 'producer', logger });
  const queryRedis = connectRedis(redisUrl, { role: 'producer', logger });
  const newsRedis = connectRedis(redisUrl, { role: 'worker', logger });
  const jobs = createJobs(redisUrl);
  life.onStop('redis', async () => {
    for (const redis of [eventLogRedis, queryRedis, newsRedis]) redis.disconnect();
    await jobs.close();
  });
  await Promise.all([eventLogRedis.connect(), queryRedis.connect()]);

  const collect = await createIngest({
    redis: eventLogRedis,
    subscriber: newsRedis,
    registry,
    config: settings,
    logger,
  });
  const worker = startWorker({ redisUrl, registry, warehouse, logger, partitions: settings.EVENT_LOG_PARTITIONS });
  life.onStop('worker', () => worker.stop());

  const query = createQueryListener({
    registry,
    warehouse,
    redis: queryRedis,
    jobs,
    config: { region: settings.REGION, mode: settings.MODE, appSecret: settings.APP_SECRET },
    logger,
    now: () => new Date(),
  });
  return (request, response) => {
    if (!collect(request, response)) query(request, response);
  };
}
