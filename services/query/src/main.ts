import { withPeerSecret } from '@meridian/peers/peer-settings';
import { createPeers } from '@meridian/peers/peers';
import { createJobs } from '@meridian/queue/jobs';
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
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { ensureAdministrator, newAdministrator } from './auth/ensure-administrator.ts';
import { QueryEnvironment, questionMaxMs, questionWaitMaxMs, toQueryConfig } from './config.ts';
import { createQueryListener, storeChecks } from './create-query-listener.ts';
import { createOnQuery } from './on-query.ts';
import { onceRegistryAnswers } from './once-registry-answers.ts';
import { createQueryCounts } from './query-counts.ts';

/**
 * Longer than the last question can be waited for, however long it waits for its turn, after the longest delay of the
 * stop.
 */
const stopMaxMs = questionWaitMaxMs + questionMaxMs + 15_000;

const logger = createLogger({ service: 'query' });

runProcess({ logger, stopMaxMs }, async (life) => {
  const env = loadConfig(withPeerSecret(QueryEnvironment), process.env);
  logger.level = env.LOG_LEVEL;
  logger.info(redactConfig(env), 'starting');
  await startTracing(process.env, { life, logger, service: 'meridian-query' });

  const redis = connectRedis(env.REDIS_URL, { role: 'producer', logger });
  const registry = createRegistry(env.DATABASE_URL, { replicaUrl: env.DATABASE_REPLICA_URL });
  const counts = createQueryCounts();
  const warehouse = createWarehouse(env.CLICKHOUSE_URL, { onQuery: createOnQuery(counts) });
  const jobs = createJobs(env.REDIS_URL);
  const peers = createPeers(env.REGION, env);
  life.onStop('stores', async () => {
    redis.disconnect();
    await Promise.all([registry.close(), warehouse.close(), jobs.close(), peers.close()]);
  });
  // A store that is away now is connected to later; until then /readyz names it.
  redis.connect().catch(() => {});
  logOutages({ life, logger }, storeChecks({ registry, warehouse, redis }));
  await serveMetricsOf({ life, logger, config: env }, counts.metrics());

  const { REGION: region, MODE: mode, ADMIN_USERNAME: username, ADMIN_PASSWORD: password } = env;
  const administrator = newAdministrator({ username, password, homeRegion: region });
  async function createAdministrator(): Promise<void> {
    const { generatedPassword } = await ensureAdministrator(registry, administrator);
    if (generatedPassword !== undefined) console.log(`Administrator: ${username} / ${generatedPassword}`);
  }
  if (mode === 'self-hosted') {
    const endAttempts = await onceRegistryAnswers(createAdministrator, (err) => {
      logger.error({ err }, 'the administrator was not created');
      void life.stop(1);
    });
    life.onStop('administrator', endAttempts);
  }
  const config = toQueryConfig(env);
  const now = () => new Date();
  const { check: stopping, drain } = createDrain(env.STOP_DELAY_MS);
  const deps = { registry, warehouse, redis, jobs, peers, config, logger, counts, now };
  const listener = createQueryListener(deps, { stopping });
  const server = await listenOrSay('PORT', listener, { port: env.PORT, ...(env.HOST && { host: env.HOST }) });
  life.onStop('http', async () => {
    await drain();
    await server.close(config.questionLimits.waitMaxMs + questionMaxMs);
  });
  logger.info({ port: server.port }, 'listening');
});
