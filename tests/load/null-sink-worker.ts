// A worker whose warehouse takes everything and keeps nothing: what is left is what the worker itself costs.
import { createRegistry } from '@meridian/registry/registry';
import { loadConfig } from '@meridian/runtime/config';
import { listen } from '@meridian/runtime/http/server';
import { createLogger } from '@meridian/runtime/logger';
import { runProcess } from '@meridian/runtime/process';
import { connectRedis } from '@meridian/runtime/redis';
import { WorkerConfig } from '@meridian/worker/config';
import { createWorker, type WorkerDeps } from '@meridian/worker/create-worker';
import { createProcessRoutes } from '@meridian/worker/process-routes';
import { createWorkerCounts } from '@meridian/worker/worker-counts';

const nullSink: WorkerDeps['warehouse'] = {
  insertEvents: async () => {},
  insertSessionProperties: async () => {},
  findStoredEventIds: async () => new Set(),
  findRecentSessions: async () => [],
  untilInsertsEnd: async () => {},
  remembersTokensSince: async () => 'yes',
  purgeWebsite: async () => {},
  purgeCollectedBefore: async () => {},
  repairRollups: async () => false,
};

const logger = createLogger({ service: 'worker', level: 'warn' });

runProcess({ logger }, async (life) => {
  const config = loadConfig(WorkerConfig, process.env);
  const connect = () => connectRedis(config.REDIS_URL, { role: 'worker', logger });
  const [redis, subscriber] = [connect(), connect()];
  const waitingRedis = { live: connect(), backfill: connect() };
  const registry = createRegistry(config.DATABASE_URL);
  const connections = { redis, waitingRedis, subscriber, redisUrl: config.REDIS_URL };
  const counts = createWorkerCounts();
  const worker = createWorker({ ...connections, registry, warehouse: nullSink, config, logger, counts });
  const routes = createProcessRoutes({ redis: () => redis.ping(), postgres: registry.ping });
  const server = await listen(routes, { port: config.PORT });
  life.onStop('stores', async () => {
    for (const connection of [redis, ...Object.values(waitingRedis), subscriber]) connection.disconnect();
    await registry.close();
  });
  life.onStop('http', () => server.close(0));
  life.onStop('worker', worker.stop);
  worker.run().catch((err: unknown) => {
    logger.fatal({ err }, 'ended');
    void life.stop(1);
  });
});
