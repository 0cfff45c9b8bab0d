import type { FailedJobs } from '@meridian/queue/failed-jobs';
import { StartError } from '@meridian/runtime/process';
import { withinMs } from '@meridian/runtime/within-ms';
import { Redis } from 'ioredis';
import { messageOf } from './checks/finding.ts';
import { type CliConfig, findInstallation } from './config.ts';
import { type Print, printable } from './print.ts';
import type { RegistryCommand } from './run-registry-command.ts';
import { tellingOf } from './telling-of.ts';
import { UsageError } from './usage.ts';

const answerMaxMs = 30_000;
const connectMaxMs = 5_000;
/** A Redis that is loading its data is waited for so long. */
const readyMaxMs = 10_000;

/** Runs the command that the arguments name and gives its exit code. Loads and opens only what it needs. */
export async function runCommand(config: Readonly<CliConfig>, args: readonly string[], print: Print): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case 'dead-letters':
      return deadLetters(config, rest, print);
    case 'failed-jobs':
      return failedJobs(config, rest, print);
    case 'check-rollups':
      return checkRollups(config, rest, print);
    case 'doctor':
      return doctor(config, rest, print);
    case 'regions':
      return regions(config, rest, print);
    case 'repeat-removals':
      return repeatRemovals(config, rest, print);
    case 'create-account':
    case 'create-key':
    case 'create-website':
    case 'delete-account':
    case 'audit':
      return onRegistry(command, config, rest, print);
    case 'backup':
      return backup(config, rest, print);
    case 'restore':
      return restore(config, rest, print);
    case 'migrate':
      return migrate(config, rest, print);
    default:
      throw new UsageError(`There is no command ${command}`);
  }
}

async function deadLetters(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const [{ createDeadLetters }, { runDeadLetters }] = await Promise.all([
    import('@meridian/queue/dead-letters'),
    import('./dead-letters-command.ts'),
  ]);
  return onRedisAlone(findInstallation(config).addresses.redis(), (redis) =>
    runDeadLetters(createDeadLetters({ redis, partitions: config.EVENT_LOG_PARTITIONS }), args, print),
  );
}

async function failedJobs(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const { runFailedJobs } = await import('./failed-jobs-command.ts');
  const redisUrl = findInstallation(config).addresses.redis();
  return onRedisAlone(redisUrl, () => withJobs(redisUrl, (jobs) => runFailedJobs(jobs, args, print)));
}

async function checkRollups(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const [
    { logLagMs },
    { untilHandedOutIsStored },
    { createRollupCheck },
    { runCheckRollups },
    { parseRollupArguments },
  ] = await Promise.all([
    import('@meridian/queue/log-level'),
    import('@meridian/queue/log-marks'),
    import('@meridian/warehouse/rollups/check'),
    import('./check-rollups-command.ts'),
    import('./arguments.ts'),
  ]);
  const asked = parseRollupArguments(args);
  const { addresses } = findInstallation(config);
  const partitions = config.EVENT_LOG_PARTITIONS;
  const onLog = <Value>(work: (redis: Redis) => Promise<Value>) => onRedisAlone(addresses.redis(), work);
  const rollups = createRollupCheck(addresses.clickhouse());
  const deps = {
    ...rollups,
    readLogLagMs: () => onLog((redis) => logLagMs(redis, partitions)),
    untilHandedOutIsStored: (signal: AbortSignal) =>
      onLog((redis) => untilHandedOutIsStored(redis, partitions, signal)),
  };
  try {
    return await tellingOf('ClickHouse (CLICKHOUSE_URL)', () => runCheckRollups(deps, asked, new Date(), print));
  } finally {
    await rollups.close();
  }
}

async function doctor(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const [{ createRegistry }, { createWarehouse }, { runDoctor }] = await Promise.all([
    import('@meridian/registry/registry'),
    import('@meridian/warehouse/warehouse'),
    import('./doctor-command.ts'),
  ]);
  const { addresses, region, peers } = findInstallation(config);
  const [databaseUrl, clickhouseUrl, redisUrl] = [addresses.database(), addresses.clickhouse(), addresses.redis()];
  const { EVENT_LOG_PARTITIONS: partitions, GEOIP_DB, CLIENT_IP_HEADER } = config;
  const registry = createRegistry(databaseUrl, { poolMax: 1, timeoutMs: connectMaxMs });
  const warehouse = createWarehouse(clickhouseUrl);
  const stores = { databaseUrl, clickhouseUrl, registry, warehouse };
  const { PEERS, PEER_SECRET } = peers;
  const settings = { PEERS, PEER_SECRET, GEOIP_DB, CLIENT_IP_HEADER };
  const parts = { ...stores, partitions, region: region(), settings, now: () => new Date() };
  // Neither of them is closed: that would wait for what a check has given up. The process ends next.
  return withRedis(redisUrl, (redis, whyRedisIsAway) =>
    withJobs(redisUrl, (jobs) => runDoctor({ ...parts, redis, whyRedisIsAway, jobs }, args, print)),
  );
}

async function regions(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const [{ runRegions }, { tellingOfPostgres }] = await Promise.all([
    import('./regions-command.ts'),
    import('./run-registry-command.ts'),
  ]);
  const installation = findInstallation(config);
  const databaseUrl = installation.addresses.database();
  const peers = installation.peers.PEERS;
  return tellingOfPostgres(() =>
    runRegions({ databaseUrl, regions: installation.regions, peers, now: () => new Date() }, args, print),
  );
}

async function repeatRemovals(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const [{ runRepeatRemovals }, { tellingOfPostgres }] = await Promise.all([
    import('./repeat-removals-command.ts'),
    import('./run-registry-command.ts'),
  ]);
  const { addresses, region } = findInstallation(config);
  const databaseUrl = addresses.database();
  return tellingOfPostgres(() => runRepeatRemovals({ databaseUrl, region: region() }, args, print));
}

async function onRegistry(
  command: RegistryCommand,
  config: Readonly<CliConfig>,
  args: string[],
  print: Print,
): Promise<number> {
  const { runRegistryCommand } = await import('./run-registry-command.ts');
  return runRegistryCommand(command, config, args, print);
}

async function backup(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const [{ runBackup }, { tellingOfPostgres }] = await Promise.all([
    import('./backup-command.ts'),
    import('./run-registry-command.ts'),
  ]);
  const databaseUrl = findInstallation(config).addresses.database();
  return tellingOfPostgres(() =>
    runBackup({ databaseUrl, now: () => new Date(), output: process.stdout }, args, print),
  );
}

async function restore(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const [{ runRestore }, { tellingOfPostgres }] = await Promise.all([
    import('./restore-command.ts'),
    import('./run-registry-command.ts'),
  ]);
  const databaseUrl = findInstallation(config).addresses.database();
  return tellingOfPostgres(() => runRestore({ databaseUrl, input: process.stdin }, args, print));
}

async function migrate(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const [{ createWarehouse }, { runMigrate }] = await Promise.all([
    import('@meridian/warehouse/warehouse'),
    import('./migrate-command.ts'),
  ]);
  const { addresses } = findInstallation(config);
  const databaseUrl = addresses.database();
  const warehouse = createWarehouse(addresses.clickhouse());
  const { CLICKHOUSE_CLUSTER: cluster, RETENTION_DAYS: retentionDays } = config;
  try {
    return await runMigrate({ databaseUrl, warehouse, cluster, retentionDays, report: console.error }, args, print);
  } finally {
    await warehouse.close();
  }
}

/**
 * For work that needs no other store: what fails there is told with the store's variable, and why Redis could not be
 * reached.
 */
async function onRedisAlone<Value>(url: string, work: (redis: Redis) => Promise<Value>): Promise<Value> {
  return withRedis(url, async (redis, whyAway) => {
    try {
      await redis.ping(); // first: a queue's own connection would tell late, and not why, that Redis is away
      return await work(redis);
    } catch (error) {
      const why = whyAway() ?? (redis.status === 'ready' ? undefined : error);
      if (error instanceof UsageError || why === undefined) throw error;
      throw new StartError(`Redis (REDIS_URL): ${printable(messageOf(why))}`);
    }
  });
}

/** A connection that connects at its first command and never again: what fails is told at once. */
async function withRedis<Value>(
  url: string,
  work: (redis: Redis, whyAway: () => Error | undefined) => Promise<Value>,
): Promise<Value> {
  let trouble: Error | undefined;
  const redis = new Redis(url, {
    lazyConnect: true,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    connectTimeout: connectMaxMs,
    commandTimeout: answerMaxMs,
  });
  // Every command tells that it failed, but not why the connection did.
  redis.on('error', (error) => {
    trouble = error;
  });
  try {
    await withinMs(readyMaxMs, redis.connect(), `no answer within ${readyMaxMs / 1_000} s`).catch((error) => {
      redis.disconnect();
      trouble ??= error;
    });
    return await work(redis, () => trouble);
  } finally {
    redis.disconnect();
  }
}

async function withJobs<Value>(redisUrl: string, work: (jobs: FailedJobs) => Promise<Value>): Promise<Value> {
  const { createFailedJobs } = await import('@meridian/queue/failed-jobs');
  const jobs = createFailedJobs(redisUrl);
  try {
    return await work(jobs);
  } finally {
    await jobs.close();
  }
}
