import { createDeadLetters } from '@meridian/queue/dead-letters';
import type { FailedJobs } from '@meridian/queue/failed-jobs';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import type { Redis } from 'ioredis';
import { parseFlag } from './arguments.ts';
import { checkClickHouse, checkRollups } from './checks/clickhouse.ts';
import { checkAccounting, checkLogAge, checkPartitions } from './checks/event-log.ts';
import { type Finding, fail, messageOf, warn } from './checks/finding.ts';
import { checkDeadLetters, checkFailedJobs } from './checks/given-up.ts';
import { checkPostgres } from './checks/postgres.ts';
import { checkRedis, checkRedisSettings } from './checks/redis.ts';
import { type Print, printable, toPrintableJson, toTable } from './print.ts';

/** A check that takes longer has failed; the comparison of rollups then only warns, as the check of ClickHouse says why. */
const checkMaxMs = 30_000;

export type DoctorDeps = {
  databaseUrl: string;
  warehouse: Pick<Warehouse, 'readState' | 'findRollupDrift' | 'drawActiveWebsites'>;
  redis: Redis;
  /** Why it could not be connected to. */
  whyRedisIsAway: () => Error | undefined;
  jobs: Pick<FailedJobs, 'count'>;
  partitions: number;
  now: () => Date;
};

/** `meridian doctor`: one line for each check and what to do. The exit code is 1 when something is wrong. */
export async function runDoctor(deps: DoctorDeps, args: string[], print: Print): Promise<number> {
  const json = parseFlag(args, 'json');
  const findings = await examine(deps);
  const entries = Object.entries(findings);
  if (json) {
    print(toPrintableJson(entries.map(([check, finding]) => ({ check, ...finding }))));
  } else {
    const lines = toTable(entries.map(([check, { status, detail }]) => [status, check, detail]));
    for (const [i, [, finding]] of entries.entries()) {
      print(lines[i] ?? '');
      if (finding.status !== 'OK') print(`      ${printable(finding.advice)}`);
    }
  }
  return entries.some(([, { status }]) => status === 'FAIL') ? 1 : 0;
}

/** Every finding by the name of its check, in the order in which they are told. */
async function examine({ databaseUrl, warehouse, redis, whyRedisIsAway, jobs, partitions, now }: DoctorDeps) {
  const letters = createDeadLetters({ redis, partitions });
  const checks: Record<string, () => Promise<Finding>> = {
    Postgres: () => checkPostgres(databaseUrl),
    ClickHouse: () => checkClickHouse(warehouse),
    Redis: () => checkRedis(redis, whyRedisIsAway),
    'Redis settings': () => checkRedisSettings(redis),
    'event log': () => checkLogAge(redis, partitions),
    partitions: () => checkPartitions(redis, partitions),
    accounting: () => checkAccounting(redis, partitions, letters),
    'dead letters': () => checkDeadLetters(letters),
    'failed jobs': () => checkFailedJobs(jobs),
    rollups: () => checkRollups(warehouse, now()),
  };
  const findings = Object.entries(checks).map(
    async ([name, check]) => [name, await endingInTime(check, name === 'rollups' ? warn : fail)] as const,
  );
  return Object.fromEntries(await Promise.all(findings));
}

async function endingInTime(check: () => Promise<Finding>, judge: typeof fail): Promise<Finding> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${checkMaxMs / 1_000} s`)), checkMaxMs);
  });
  try {
    return await Promise.race([check(), late]);
  } catch (error) {
    return judge(`could not be checked: ${messageOf(error)}`, 'See the checks of the stores.');
  } finally {
    clearTimeout(timer);
  }
}
