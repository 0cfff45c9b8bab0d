import { createFailedJobs } from '@meridian/queue/failed-jobs';
import { logLagMs } from '@meridian/queue/log-level';
import { createRegistry } from '@meridian/registry/registry';
import { loadConfig, redactConfig } from '@meridian/runtime/config';
import { listenOrSay } from '@meridian/runtime/http/listen-or-say';
import { logOutages } from '@meridian/runtime/log-outages';
import { createLogger } from '@meridian/runtime/logger';
import { runProcess } from '@meridian/runtime/process';
import { connectRedis } from '@meridian/runtime/redis';
import { serveMetricsOf } from '@meridian/runtime/serve-metrics';
import { startTracing } from '@meridian/runtime/tracing';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { WorkerConfig } from './config.ts';
import { createWorker } from './create-worker.ts';
import { createProcessRoutes } from './process-routes.ts';
import { regionMetrics } from './region-metrics.ts';
import { createStallCheck } from './stall-check.ts';
import { createWorkerCounts, workerMetrics } from './worker-counts.ts';

const httpGraceMs = 1_000;
const registryPoolMax = 4;

const logger = createLogger({ service: 'worker' });

runProcess({ logger }, async (life) => {
  const config = loadConfig(WorkerConfig, process.env);
  logger.level = config.LOG_LEVEL;
  logger.info(redactConfig(config), 'starting');
  await startTracing(process.env, { life, logger, service: 'meridian-worker' });

  const connect = () => connectRedis(config.REDIS_URL, { role: 'worker', logger });
  const [redis, subscriber] = [connect(), connect()];
  const waitingRedis = { live: connect(), backfill: connect() };
  /** For what is asked about the log: does not wait for Redis. */
  const inspector = connectRedis(config.REDIS_URL, { role: 'producer', logger });
  inspector.connect().catch(() => {});
  const failedJobs = createFailedJobs(config.REDIS_URL);
  const registry = createRegistry(config.DATABASE_URL, { poolMax: registryPoolMax });
  const warehouse = createWarehouse(config.CLICKHOUSE_URL);
  life.onStop('stores', async () => {
    for (const connection of [redis, ...Object.values(waitingRedis), subscriber, inspector]) connection.disconnect();
    await Promise.all([registry.close(), warehouse.close(), failedJobs.close()]);
  });

  const partitions = config.EVENT_LOG_PARTITIONS;
  const counts = createWorkerCounts();
  const metrics = [...workerMetrics(counts), ...regionMetrics({ redis: inspector, partitions, failedJobs })];
  await serveMetricsOf({ life, logger, config }, metrics);

  const storing = createStallCheck({
    lastEndedAt: () => counts.lastEndedAt,
    lagMs: () => logLagMs(inspector, partitions, ['live']),
    stallMaxMs: config.STALL_MAX_MS,
  });
  const stores = { redis: () => redis.ping(), postgres: registry.ping, clickhouse: warehouse.ping };
  logOutages({ life, logger }, stores);
  const server = await listenOrSay('PORT', createProcessRoutes({ ...stores, storing }), {
    port: config.PORT,
    ...(config.HOST && { host: config.HOST }),
  });
  life.onStop('http', () => server.close(httpGraceMs));

  const worker = createWorker({
    redis,
    waitingRedis,
    subscriber,
    redisUrl: config.REDIS_URL,
    registry,
    warehouse,
    config,
    logger,
    counts,
  });
  life.onStop('worker', worker.stop);
  worker.run().catch((err: unknown) => {
    logger.fatal({ err }, 'a batch can be neither stored nor set aside');
    void life.stop(1);
  });
  logger.info({ port: server.port }, 'working');
});
