import { migrate } from '@meridian/registry/migrate';
import { ConfigError, loadConfig, retentionDays } from '@meridian/runtime/config';
import { StartError } from '@meridian/runtime/process';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { z } from 'zod';
import { retry } from './retry.ts';

// `npm run migrate`: brings both stores to this version's schema. Run once before a rollout; running it again changes nothing.

/** How long a store may take to come up when everything is started at once. */
const storeWaitMaxMs = 60_000;

/** Codes of Node and of Postgres (57P03: the server is starting) that say that nothing has been done yet. */
const unreachable = ['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ETIMEDOUT', '57P03'];

const MigrateConfig = z.object({
  DATABASE_URL: z.url(),
  CLICKHOUSE_URL: z.url(),
  /** Name of the ClickHouse cluster on which the tables are created; unset on a single server. */
  CLICKHOUSE_CLUSTER: z.string().optional(),
  /** For how many days events are kept; unset: for ever. */
  RETENTION_DAYS: retentionDays,
});

async function run(): Promise<void> {
  const config = loadConfig(MigrateConfig, process.env);
  const warehouse = createWarehouse(config.CLICKHOUSE_URL);
  try {
    await whenReachable('Postgres', () =>
      migrate(config.DATABASE_URL, async () => {
        await whenReachable('ClickHouse', () => warehouse.migrate(config.CLICKHOUSE_CLUSTER));
        await warehouse.setRetention(config.RETENTION_DAYS, config.CLICKHOUSE_CLUSTER);
      }),
    );
  } finally {
    await warehouse.close();
  }
}

async function whenReachable(store: string, work: () => Promise<void>): Promise<void> {
  const giveUp = new AbortController();
  const timer = setTimeout(
    () => giveUp.abort(new StartError(`${store} cannot be reached; given up after ${storeWaitMaxMs / 1000} s.`)),
    storeWaitMaxMs,
  );
  try {
    await retry(work, {
      isWorthRetrying: (error) => unreachable.includes(codeOf(error)),
      onRetry: (error, attempts) => {
        if (attempts === 1) console.error(`${store} cannot be reached yet (${codeOf(error)}); trying again …`);
      },
      signal: giveUp.signal,
    });
  } finally {
    clearTimeout(timer);
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

run().then(
  () => console.log('Postgres and ClickHouse have the schema of this version.'),
  (error: unknown) => {
    console.error(error instanceof ConfigError || error instanceof StartError ? error.message : error);
    process.exitCode = 1;
  },
);
