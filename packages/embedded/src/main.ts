// Runs the three stores without the services, for development and tests: prints their addresses as lines for the
// environment and ends them on Ctrl-C or SIGTERM.
import { startStores } from './stores.ts';

const starting = startStores({
  dataDir: process.env.DATA_DIR || '.meridian',
  onProgress: console.error,
  log: console.error,
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () =>
    starting.then(
      (stores) => stores.stop(),
      () => {}, // told below
    ),
  );
}
starting.then(
  (stores) => {
    console.log(`DATABASE_URL=${stores.databaseUrl}`);
    console.log(`CLICKHOUSE_URL=${stores.clickhouseUrl}`);
    console.log(`REDIS_URL=${stores.redisUrl}`);
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
