import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Stores, startStores } from '@meridian/embedded/stores';
import { ensureAdministrator } from '@meridian/query/auth/ensure-administrator';
import { migrate } from '@meridian/registry/migrate';
import { createRegistry } from '@meridian/registry/registry';
import { loadConfig } from '@meridian/runtime/config';
import type { Readiness } from '@meridian/runtime/health';
import { listen } from '@meridian/runtime/http/server';
import { createLogger } from '@meridian/runtime/logger';
import { runProcess, StartError } from '@meridian/runtime/process';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { keepAppSecret } from './app-secret.ts';
import { StandaloneConfig } from './config.ts';
import { startServices } from './start-services.ts';
import { originOf, readyLine, welcomeText } from './welcome.ts';

const logger = createLogger({ service: 'standalone', level: 'warn' });

runProcess({ logger }, async (life) => {
  const config = loadConfig(StandaloneConfig, process.env);
  logger.level = config.LOG_LEVEL;
  const dataDir = resolve(config.DATA_DIR);

  const stores = await startEmbeddedStores(config);
  life.onStop('stores', stores.stop);
  const secret = config.APP_SECRET ?? (await keepAppSecret(dataDir));

  const warehouse = createWarehouse(stores.clickhouseUrl);
  await Promise.all([migrate(stores.databaseUrl), warehouse.migrate()]);
  const registry = createRegistry(stores.databaseUrl);
  life.onStop('connections', async () => {
    await Promise.all([registry.close(), warehouse.close()]);
  });

  const { ADMIN_USERNAME: administrator, ADMIN_PASSWORD: password, REGION: homeRegion } = config;
  const { generatedPassword } =
    config.MODE === 'cloud'
      ? {}
      : await ensureAdministrator(registry, { username: administrator, password, homeRegion });

  const settings = { ...config, APP_SECRET: secret };
  const answer = await startServices({ life, logger, registry, warehouse, redisUrl: stores.redisUrl, settings });
  const server = await listenOrSay(answer, config);
  life.onStop('http', () => server.close(10_000));
  const origin = originOf(config.HOST, server.port);
  await untilItWorks(origin);

  if (config.MODE === 'cloud') {
    console.log(readyLine(origin));
    return;
  }
  const loginFile = join(dataDir, 'login.json');
  writeFileSync(loginFile, '', { mode: 0o600 });
  const shown = generatedPassword === undefined ? {} : { generatedPassword };
  console.log(welcomeText({ origin, administrator, loginFile, websiteId: randomUUID(), ...shown }));
});

async function startEmbeddedStores(config: StandaloneConfig): Promise<Stores> {
  try {
    return await startStores({
      dataDir: config.DATA_DIR,
      databaseUrl: config.DATABASE_URL,
      clickhouseUrl: config.CLICKHOUSE_URL,
      redisUrl: config.REDIS_URL,
      onProgress: console.log,
      log: (message) => logger.warn(message),
    });
  } catch (error) {
    // Written for the operator: what is in use, missing or taken, and what to do.
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}

async function listenOrSay(listener: Parameters<typeof listen>[0], { PORT, HOST }: StandaloneConfig) {
  try {
    return await listen(listener, { port: PORT, ...(HOST && { host: HOST }) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new StartError(`Port ${PORT} is in use by another program. Choose another one: PORT=3001 npm start`);
  }
}

/**
 * The welcome is a promise: it comes when every part answers.
 * @throws StartError that names the part that does not, after a minute
 */
async function untilItWorks(origin: string): Promise<void> {
  for (const deadlineMs = Date.now() + 60_000; ; ) {
    const { ok, notReady } = (await (await fetch(`${origin}/readyz`)).json()) as Readiness;
    if (ok) return;
    if (Date.now() > deadlineMs) throw new StartError(`Not ready after a minute: ${notReady.join(', ')}`);
    await new Promise((again) => setTimeout(again, 50));
  }
}
