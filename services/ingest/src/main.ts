import { withPeerSecret } from '@meridian/peers/peer-settings';
import { createPeers } from '@meridian/peers/peers';
import { createRegistry } from '@meridian/registry/registry';
import { loadConfig, redactConfig } from '@meridian/runtime/config';
import { createDrain } from '@meridian/runtime/http/drain';
import { listenOrSay } from '@meridian/runtime/http/listen-or-say';
import { logOutages } from '@meridian/runtime/log-outages';
import { createLogger } from '@meridian/runtime/logger';
import { runProcess } from '@meridian/runtime/process';
import { connectRedis } from '@meridian/runtime/redis';
import { serveMetricsOf } from '@meridian/runtime/serve-metrics';
import { startTracing } from '@meridian/runtime/tracing';
import { collectMetrics, createCollectCounts } from './collect-counts.ts';
import { IngestConfig } from './config.ts';
import { createIngest } from './create-ingest.ts';
import { createProcessRoutes } from './process-routes.ts';

/** Longer than the slowest answer: an append is settled within a second. */
const stopGraceMs = 10_000;
/** A sender does not wait for a registry that says nothing. */
const registryTimeoutMs = 1_500;
const registryPoolMax = 4;

const logger = createLogger({ service: 'ingest' });

runProcess({ logger }, async (life) => {
  const config = loadConfig(withPeerSecret(IngestConfig), process.env);
  logger.level = config.LOG_LEVEL;
  logger.info(redactConfig(config), 'starting');
  await startTracing(process.env, { life, logger, service: 'meridian-ingest' });

  const redis = connectRedis(config.REDIS_URL, { role: 'producer', logger });
  const subscriber = connectRedis(config.REDIS_URL, { role: 'worker', logger });
  const registry = createRegistry(config.DATABASE_URL, {
    poolMax: registryPoolMax,
    timeoutMs: registryTimeoutMs,
    replicaUrl: config.DATABASE_REPLICA_URL,
  });
  const peers = createPeers(config.REGION, config);
  life.onStop('stores', async () => {
    redis.disconnect();
    subscriber.disconnect();
    await Promise.all([registry.close(), peers.close()]);
  });
  // A store that is away now is connected to later; until then /readyz names it.
  redis.connect().catch(() => {});
  const stores = { redis: () => redis.ping(), postgres: registry.ping };
  logOutages({ life, logger }, stores);

  const counts = createCollectCounts();
  await serveMetricsOf({ life, logger, config }, collectMetrics(counts));
  const handle = await createIngest({ redis, subscriber, registry, peers, config, counts, logger });
  const { check: stopping, drain } = createDrain(config.STOP_DELAY_MS);
  const routes = createProcessRoutes(handle, { own: { stopping }, stores });
  const server = await listenOrSay('PORT', routes, { port: config.PORT, ...(config.HOST && { host: config.HOST }) });
  life.onStop('http', async () => {
    await drain();
    await server.close(stopGraceMs);
  });
  logger.info({ port: server.port }, 'listening');
});
