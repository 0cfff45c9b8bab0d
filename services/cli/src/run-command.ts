import type { FailedJobs } from '@meridian/queue/failed-jobs';
import { Redis } from 'ioredis';
import { type CliConfig, findAddresses } from './config.ts';
import type { Print } from './print.ts';
import { UsageError, usage } from './usage.ts';

const answerMaxMs = 30_000;
const connectMaxMs = 5_000;

/** Runs the command that the arguments name and gives its exit code. Loads and opens only what it needs. */
export async function runCommand(config: Readonly<CliConfig>, args: readonly string[], print: Print): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case undefined:
    case 'help':
    case '--help':
    case '-h':
      print(usage);
      return 0;
    case 'dead-letters':
      return deadLetters(config, rest, print);
    case 'failed-jobs':
      return failedJobs(config, rest, print);
    case 'doctor':
      return doctor(config, rest, print);
    default:
      throw new UsageError(`There is no command ${command}`);
  }
}

async function deadLetters(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const [{ createDeadLetters }, { runDeadLetters }] = await Promise.all([
    import('@meridian/queue/dead-letters'),
    import('./dead-letters-command.ts'),
  ]);
  return withRedis(findAddresses(config).redis(), (redis) =>
    runDeadLetters(createDeadLetters({ redis, partitions: config.EVENT_LOG_PARTITIONS }), args, print),
  );
}

async function failedJobs(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const { runFailedJobs } = await import('./failed-jobs-command.ts');
  const redisUrl = findAddresses(config).redis();
  return withRedis(redisUrl, async (redis) => {
    await redis.ping(); // the queue's own connection would tell late, and not why, that Redis is away
    return withJobs(redisUrl, (jobs) => runFailedJobs(jobs, args, print));
  });
}

async function doctor(config: Readonly<CliConfig>, args: string[], print: Print): Promise<number> {
  const [{ createWarehouse }, { runDoctor }] = await Promise.all([
    import('@meridian/warehouse/warehouse'),
    import('./doctor-command.ts'),
  ]);
  const addresses = findAddresses(config);
  const [databaseUrl, redisUrl] = [addresses.database(), addresses.redis()];
  const warehouse = createWarehouse(addresses.clickhouse());
  const parts = { databaseUrl, warehouse, partitions: config.EVENT_LOG_PARTITIONS, now: () => new Date() };
  try {
    return await withRedis(redisUrl, (redis) =>
      withJobs(redisUrl, (jobs) => runDoctor({ ...parts, redis, jobs }, args, print)),
    );
  } finally {
    await warehouse.close();
  }
}

/** A connection that connects at its first command and never again: what fails is told at once. */
async function withRedis<Value>(url: string, work: (redis: Redis) => Promise<Value>): Promise<Value> {
  const redis = new Redis(url, {
    lazyConnect: true,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    connectTimeout: connectMaxMs,
    commandTimeout: answerMaxMs,
  });
  redis.on('error', () => {}); // every command tells its own failure
  try {
    await redis.connect().catch(() => {});
    return await work(redis);
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
