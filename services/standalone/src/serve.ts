import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join, resolve } from 'node:path';
import type { Stores } from '@meridian/embedded/stores';
import { ensureAdministrator } from '@meridian/query/auth/ensure-administrator';
import { migrate } from '@meridian/registry/migrate';
import { createRegistry, type Registry } from '@meridian/registry/registry';
import type { Readiness } from '@meridian/runtime/health';
import { type HttpServer, listen } from '@meridian/runtime/http/server';
import type { Logger } from '@meridian/runtime/logger';
import { type Life, StartError } from '@meridian/runtime/process';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { keepAppSecret } from './app-secret.ts';
import type { StandaloneConfig } from './config.ts';
import { startServices } from './start-services.ts';
import { originOf, readyLine, welcomeText } from './welcome.ts';

const stopGraceMs = 10_000;

/** Everything on top of the stores, up to the lines that say that it works. */
export async function serve(parts: {
  life: Life;
  logger: Logger;
  config: StandaloneConfig;
  stores: Stores;
}): Promise<void> {
  const { life, logger, config, stores } = parts;
  const dataDir = resolve(config.DATA_DIR);
  const settings = { ...config, APP_SECRET: config.APP_SECRET ?? (await keepAppSecret(dataDir)) };

  const warehouse = createWarehouse(stores.clickhouseUrl);
  const registry = createRegistry(stores.databaseUrl);
  life.onStop('connections', async () => {
    await Promise.all([registry.close(), warehouse.close()]);
  });
  await Promise.all([
    orSay('PostgreSQL (DATABASE_URL) cannot be used', () => migrate(stores.databaseUrl)),
    orSay('ClickHouse (CLICKHOUSE_URL) cannot be used', () => warehouse.migrate()),
  ]);

  const answer = await startServices({ life, logger, registry, warehouse, redisUrl: stores.redisUrl, settings });
  const server = await listenOrSay(answer, config);
  life.onStop('http', () => server.close(stopGraceMs));
  const origin = originOf(config.HOST, server.port);
  await untilItWorks(origin);
  // Last of all: a password that is generated is shown in the same breath, or a start that fails would keep it for ever.
  const generatedPassword = await createAdministrator(registry, config);
  console.log(config.MODE === 'cloud' ? readyLine(origin) : welcome(origin, dataDir, config, generatedPassword));
}

/** The password if one was generated now; on cloud there are no logins. */
async function createAdministrator(registry: Registry, config: StandaloneConfig): Promise<string | undefined> {
  if (config.MODE === 'cloud') return undefined;
  const { ADMIN_USERNAME: username, ADMIN_PASSWORD: password, REGION: homeRegion } = config;
  return (await ensureAdministrator(registry, { username, password, homeRegion })).generatedPassword;
}

/** What an operator can mend is told in a sentence that names the setting. */
async function orSay<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    const reason =
      error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : error;
    throw new StartError(`${what}: ${reason}`);
  }
}

async function listenOrSay(listener: RequestListener, { PORT, HOST }: StandaloneConfig): Promise<HttpServer> {
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

function welcome(origin: string, dataDir: string, config: StandaloneConfig, generatedPassword?: string): string {
  const loginFile = join(dataDir, 'login.json');
  writeFileSync(loginFile, '', { mode: 0o600 });
  return welcomeText({
    origin,
    administrator: config.ADMIN_USERNAME,
    ...(generatedPassword !== undefined && { generatedPassword }),
    loginFile,
    websiteId: randomUUID(),
  });
}
