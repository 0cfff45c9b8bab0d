import { migrate } from '@meridian/registry/migrate';
import { ConfigError, loadConfig } from '@meridian/runtime/config';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { z } from 'zod';

// `pnpm migrate`: brings both stores to this version's schema. Run once before a rollout; running it again changes nothing.

const MigrateConfig = z.object({
  DATABASE_URL: z.url(),
  CLICKHOUSE_URL: z.url(),
  /** Name of the ClickHouse cluster on which the tables are created; unset on a single server. */
  CLICKHOUSE_CLUSTER: z.string().optional(),
});

async function run(): Promise<void> {
  const config = loadConfig(MigrateConfig, process.env);
  const warehouse = createWarehouse(config.CLICKHOUSE_URL);
  try {
    await migrate(config.DATABASE_URL);
    await warehouse.migrate(config.CLICKHOUSE_CLUSTER);
  } finally {
    await warehouse.close();
  }
}

run().then(
  () => console.log('Postgres and ClickHouse have the schema of this version.'),
  (error: unknown) => {
    console.error(error instanceof ConfigError ? error.message : error);
    process.exitCode = 1;
  },
);
