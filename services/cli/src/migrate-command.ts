import { migrate } from '@meridian/registry/migrate';
import { readPostgresState } from '@meridian/registry/server-state';
import { StartError } from '@meridian/runtime/process';
import { retry } from '@meridian/runtime/retry';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import { parseFlag } from './arguments.ts';
import type { Print } from './print.ts';
import { tellingOf } from './telling-of.ts';

/** How long a store may take to come up when everything is started at once. */
const storeWaitMaxMs = 60_000;

const postgresName = 'Postgres (DATABASE_URL)';
const clickhouseName = 'ClickHouse (CLICKHOUSE_URL)';

/**
 * Codes of Node and of Postgres (57P03: the server is starting): there was no connection, or it broke. A migration that
 * was cut short may be run again.
 */
const unreachable = ['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ETIMEDOUT', '57P03'];

type MigrateDeps = {
  databaseUrl: string;
  warehouse: Pick<Warehouse, 'migrate' | 'setRetention' | 'planRetention' | 'readState' | 'refuseOtherCluster'>;
  /** Name of the ClickHouse cluster on which the tables are created; undefined on a single server. */
  cluster: string | undefined;
  /** For how many days events are kept; undefined: for ever. */
  retentionDays: number | undefined;
  /** Hears what takes longer than it should. */
  report: Print;
};

/**
 * `meridian migrate`: brings both stores to this version's schema. Run once before a rollout; running it again changes
 * nothing. With `--dry-run` it tells what would be done; the exit code is then 1 when there is something to do.
 */
export async function runMigrate(deps: MigrateDeps, args: string[], print: Print): Promise<number> {
  if (parseFlag(args, 'dry-run')) return tellPlan(deps, print);
  const { databaseUrl, warehouse, cluster, retentionDays } = deps;
  const migrateClickHouse = async () => {
    await warehouse.migrate(cluster);
    await warehouse.setRetention(retentionDays);
  };
  await tellingOf(postgresName, () =>
    whenReachable('Postgres', deps.report, () =>
      migrate(databaseUrl, () =>
        tellingOf(clickhouseName, () => whenReachable('ClickHouse', deps.report, migrateClickHouse)),
      ),
    ),
  );
  print('Postgres and ClickHouse have the schema of this version.');
  return 0;
}

async function tellPlan(
  { databaseUrl, warehouse, cluster, retentionDays }: MigrateDeps,
  print: Print,
): Promise<number> {
  const postgres = await tellingOf(postgresName, () => readPostgresState(databaseUrl));
  const clickhouse = await tellingOf(clickhouseName, () => warehouse.readState());
  await tellingOf(clickhouseName, () => warehouse.refuseOtherCluster(cluster));
  const retention = await tellingOf(clickhouseName, () => warehouse.planRetention(retentionDays));
  const steps = [
    ...postgres.missingMigrations.map((name) => `Postgres: ${name}`),
    ...clickhouse.missingMigrations.map((name) => `ClickHouse: ${name}`),
    ...retention.map(({ table, change }) => `ClickHouse: ${table}: ${change}`),
  ];
  for (const step of steps) print(step);
  print(steps.length === 0 ? 'There is nothing to do.' : `${steps.length} steps would be taken.`);
  return steps.length === 0 ? 0 : 1;
}

async function whenReachable(store: string, report: Print, work: () => Promise<void>): Promise<void> {
  const giveUp = new AbortController();
  const timer = setTimeout(
    () => giveUp.abort(new StartError(`${store} cannot be reached; given up after ${storeWaitMaxMs / 1000} s.`)),
    storeWaitMaxMs,
  );
  try {
    await retry(work, {
      isWorthRetrying: (error) => unreachable.includes(codeOf(error)),
      onRetry: (error, attempts) => {
        if (attempts === 1) report(`${store} cannot be reached yet (${codeOf(error)}); trying again …`);
      },
      signal: giveUp.signal,
    });
  } finally {
    clearTimeout(timer);
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');
