import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join, resolve } from 'node:path';
import { errorBody } from '@meridian/contract/errors';
import { keepSecret } from '@meridian/embedded/kept-secret';
import type { Stores } from '@meridian/embedded/stores';
import { createOnQuery } from '@meridian/query/on-query';
import { migrate } from '@meridian/registry/migrate';
import { createRegistry } from '@meridian/registry/registry';
import { listenOrSay } from '@meridian/runtime/http/listen-or-say';
import type { Logger } from '@meridian/runtime/logger';
import type { Life } from '@meridian/runtime/process';
import { createWarehouse, type Warehouse } from '@meridian/warehouse/warehouse';
import type { StandaloneConfig } from './config.ts';
import { type Administrator, findAdministrator } from './find-administrator.ts';
import { orStartError } from './or-start-error.ts';
import { createCounts, startServices } from './start-services.ts';
import { originOf, readyLine, welcomeText, welcomeTextWithout } from './welcome.ts';

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
  // A kept secret that is lost ends all sessions and makes anonymous visitors new; no data is lost.
  const settings = { ...config, APP_SECRET: config.APP_SECRET ?? keepSecret(join(dataDir, 'app-secret')) };

  const counts = createCounts();
  const warehouse = createWarehouse(stores.clickhouseUrl, { onQuery: createOnQuery(counts.query) });
  const registry = createRegistry(stores.databaseUrl, { replicaUrl: config.DATABASE_REPLICA_URL });
  life.onStop('connections', async () => {
    await Promise.all([registry.close(), warehouse.close()]);
  });
  await orStartError('PostgreSQL (DATABASE_URL) cannot be used', () =>
    migrate(stores.databaseUrl, () =>
      orStartError('ClickHouse (CLICKHOUSE_URL) cannot be used', () => prepareWarehouse(warehouse, config)),
    ),
  );

  // The port is taken before the administrator is made, so that a start that fails never keeps a generated password to
  // itself.
  let answer = answerNotYet;
  const server = await listenOrSay('PORT', (request, response) => answer(request, response), {
    port: config.PORT,
    ...(config.HOST && { host: config.HOST }),
  });
  const { redisUrl } = stores;
  const services = await startServices({ life, logger, registry, warehouse, redisUrl, settings, counts });
  life.onStop('http', () => server.close(stopGraceMs));
  const administrator = await findAdministrator(registry, config);
  answer = services;

  const origin = originOf(config.HOST, server.port);
  console.log(config.MODE === 'cloud' ? readyLine(origin) : welcome(origin, dataDir, config, administrator));
}

async function prepareWarehouse(warehouse: Warehouse, { RETENTION_DAYS }: StandaloneConfig): Promise<void> {
  await warehouse.migrate();
  await warehouse.setRetention(RETENTION_DAYS);
}

/** Until everything works. */
const answerNotYet: RequestListener = (_request, response) => {
  const body = JSON.stringify(errorBody('service-unavailable', 'Meridian is starting.'));
  response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' }).end(body);
};

function welcome(
  origin: string,
  dataDir: string,
  config: StandaloneConfig,
  administrator: Administrator | null,
): string {
  if (!administrator) return welcomeTextWithout(config.ADMIN_USERNAME, { origin, region: config.REGION });
  const loginFile = join(dataDir, 'login.json');
  writeFileSync(loginFile, '', { mode: 0o600 });
  const { generatedPassword } = administrator;
  return welcomeText({
    origin,
    administrator: config.ADMIN_USERNAME,
    ...(generatedPassword !== undefined && { generatedPassword }),
    loginFile,
    websiteId: randomUUID(),
  });
}
