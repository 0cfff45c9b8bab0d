import { createRegistry } from '@meridian/registry/registry';
import { loadConfig, redactConfig } from '@meridian/runtime/config';
import { listen } from '@meridian/runtime/http/server';
import { createLogger } from '@meridian/runtime/logger';
import { runProcess } from '@meridian/runtime/process';
import { connectRedis } from '@meridian/runtime/redis';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { WorkerConfig } from './config.ts';
import { createWorker } from './create-worker.ts';
import { createProcessRoutes } from './process-routes.ts';

const httpGraceMs = 1_000;
const registryPoolMax = 4;

const logger = createLogger({ service: 'worker' });

runProcess({ logger }, async (life) => {
  const config = loadConfig(WorkerConfig, process.env);
  logger.level = config.LOG_LEVEL;
  logger.info(redactConfig(config), 'starting');

  const connect = () => connectRedis(config.REDIS_URL, { role: 'worker', logger });
  const [redis, reader, subscriber] = [connect(), connect(), connect()];
  const registry = createRegistry(config.DATABASE_URL, { poolMax: registryPoolMax });
  const warehouse = createWarehouse(config.CLICKHOUSE_URL);
  life.onStop('stores', async () => {
    for (const connection of [redis, reader, subscriber]) connection.disconnect();
    await Promise.all([registry.close(), warehouse.close()]);
  });

  const checks = { redis: () => redis.ping(), postgres: registry.ping, clickhouse: warehouse.ping };
  const server = await listen(createProcessRoutes(checks), {
    port: config.PORT,
    ...(config.HOST && { host: config.HOST }),
  });
  life.onStop('http', () => server.close(httpGraceMs));

  const worker = createWorker({
    redis,
    reader,
    subscriber,
    redisUrl: config.REDIS_URL,
    registry,
    warehouse,
    config,
    logger,
  });
  life.onStop('worker', worker.stop);
  worker.run().catch((err: unknown) => {
    logger.fatal({ err }, 'a batch can be neither stored nor set aside');
    void life.stop(1);
  });
  logger.info({ port: server.port }, 'working');
});
