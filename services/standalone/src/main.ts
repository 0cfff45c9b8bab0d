import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Stores, startStores } from '@meridian/embedded/stores';
import { withPeerSecret } from '@meridian/peers/peer-settings';
import { loadConfig } from '@meridian/runtime/config';
import { createLogger } from '@meridian/runtime/logger';
import { runProcess, StartError } from '@meridian/runtime/process';
import { startTracing } from '@meridian/runtime/tracing';
import { StandaloneConfig } from './config.ts';
import { refuseOtherLayout } from './refuse-other-layout.ts';
import { noteRegions } from './regions-note.ts';

const logger = createLogger({ service: 'standalone', level: 'warn' });

runProcess({ logger }, async (life) => {
  const config = loadConfig(withPeerSecret(StandaloneConfig), {
    ...process.env,
    ...argumentsOf(process.argv.slice(2)),
  });
  logger.level = config.LOG_LEVEL;
  if (config.REGIONS.length > 0) {
    const { startRegions } = await import('./start-regions.ts');
    return startRegions(config.REGIONS, { life, logger, config, env: process.env });
  }
  refuseOtherLayout(resolve(config.DATA_DIR), 'one');
  await startTracing(process.env, { life, logger, service: 'meridian' });
  // The stores are processes of their own: while they start, this one loads the rest of the code.
  const starting = startEmbeddedStores(config);
  // Registered at once: whoever stops a start stops what it has started by then. One that failed has stopped itself.
  life.onStop('stores', () =>
    starting.then(
      (stores) => stores.stop(),
      () => {},
    ),
  );
  const [stores, { serve }] = await Promise.all([starting, import('./serve.ts')]);
  await serve({ life, logger, config, stores });
});

/** `--regions us,eu` is the setting of that name. */
function argumentsOf(args: string[]): { REGIONS?: string } {
  try {
    const { regions } = parseArgs({ args, options: { regions: { type: 'string' } } }).values;
    return regions === undefined ? {} : { REGIONS: regions };
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}

async function startEmbeddedStores(config: StandaloneConfig): Promise<Stores> {
  try {
    const stores = await startStores({
      dataDir: config.DATA_DIR,
      databaseUrl: config.DATABASE_URL,
      clickhouseUrl: config.CLICKHOUSE_URL,
      redisUrl: config.REDIS_URL,
      onProgress: console.log,
      log: (message) => logger.warn(message),
    });
    noteRegions(config.DATA_DIR, null); // of a start of several that was killed
    return stores;
  } catch (error) {
    // Written for the operator: what is in use, missing or taken, and what to do.
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}
