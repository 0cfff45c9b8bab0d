import type { PeerSettings } from '@meridian/peers/peer-settings';
import { createDeadLetters } from '@meridian/queue/dead-letters';
import type { FailedJobs } from '@meridian/queue/failed-jobs';
import { logLagMs } from '@meridian/queue/log-level';
import { readRedisClock } from '@meridian/queue/read-clock';
import { readPostgresClock } from '@meridian/registry/read-clock';
import type { Registry } from '@meridian/registry/registry';
import { withinMs } from '@meridian/runtime/within-ms';
import { readClickHouseClock } from '@meridian/warehouse/read-clock';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import type { Redis } from 'ioredis';
import { parseOptions, parseWebsiteId } from './arguments.ts';
import { checkCanary } from './checks/canary.ts';
import { checkClickHouse, checkRollups } from './checks/clickhouse.ts';
import { checkClocks } from './checks/clocks.ts';
import { checkAccounting, checkLogAge, checkPartitions } from './checks/event-log.ts';
import { type Finding, fail, messageOf, warn } from './checks/finding.ts';
import { checkGeoFile } from './checks/geo-file.ts';
import { checkDeadLetters, checkFailedJobs } from './checks/given-up.ts';
import { checkPostgres } from './checks/postgres.ts';
import { checkRedis, checkRedisSettings } from './checks/redis.ts';
import { checkAddress, checkPeer } from './checks/regions.ts';
import { type Print, printable, toPrintableJson, toTable } from './print.ts';
import { UsageError } from './usage.ts';

/**
 * A check that takes longer has failed; the comparison of rollups then only warns, as the check of ClickHouse says why.
 */
const checkMaxMs = 30_000;

type DoctorDeps = {
  databaseUrl: string;
  clickhouseUrl: string;
  registry: Pick<Registry, 'createWebsite' | 'deleteWebsite' | 'listUsers'>;
  warehouse: Pick<Warehouse, 'readState' | 'compareRollups' | 'drawActiveWebsites' | 'getStats'>;
  redis: Redis;
  /** Why it could not be connected to. */
  whyRedisIsAway: () => Error | undefined;
  jobs: Pick<FailedJobs, 'count'>;
  partitions: number;
  /** The region whose stores these are. */
  region: string;
  settings: PeerSettings & { GEOIP_DB?: string | undefined; CLIENT_IP_HEADER?: string | undefined };
  now: () => Date;
};

/** `url`: the installation's address, where its API and its collection are looked at, too. */
type Request = { json: boolean; url: string | undefined; canary: boolean; websiteId: string | undefined };

/** `meridian doctor`: one line for each check and what to do. The exit code is 1 when something is wrong. */
export async function runDoctor(deps: DoctorDeps, args: string[], print: Print): Promise<number> {
  const request = parseDoctorArguments(args);
  const findings = await examine({ ...storeChecks(deps), ...surroundingsChecks(deps, request) });
  const entries = Object.entries(findings);
  if (request.json) {
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

function parseDoctorArguments(args: string[]): Request {
  const { url, website, canary, json } = parseOptions(args, ['url', 'website'], ['canary', 'json']);
  if (url !== undefined && !/^https?:\/\/[^/?#]+\/?$/.test(url))
    throw new UsageError('--url is an address such as https://analytics.example.com');
  if (canary && url === undefined) throw new UsageError('--canary needs --url, where the event is sent');
  if (website !== undefined && !canary) throw new UsageError('--website is whose event --canary sends');
  const websiteId = website === undefined ? undefined : parseWebsiteId(website);
  return { json, canary, url: url?.replace(/\/$/, ''), websiteId };
}

type Checks = Record<string, () => Promise<Finding>>;

/** In the order in which they are told. */
function storeChecks(deps: DoctorDeps): Checks {
  const { databaseUrl, clickhouseUrl, warehouse, redis, whyRedisIsAway, jobs, partitions, now } = deps;
  const letters = createDeadLetters({ redis, partitions });
  const clocks = {
    Postgres: () => readPostgresClock(databaseUrl),
    ClickHouse: () => readClickHouseClock(clickhouseUrl),
    Redis: () => readRedisClock(redis),
  };
  return {
    Postgres: () => checkPostgres(databaseUrl),
    ClickHouse: () => checkClickHouse(warehouse),
    Redis: () => checkRedis(redis, whyRedisIsAway),
    'Redis settings': () => checkRedisSettings(redis),
    clocks: () => checkClocks(clocks, now),
    'event log': () => checkLogAge(redis, partitions),
    partitions: () => checkPartitions(redis, partitions),
    accounting: () => checkAccounting(redis, partitions, letters),
    'dead letters': () => checkDeadLetters(letters),
    'failed jobs': () => checkFailedJobs(jobs),
    rollups: () => checkRollups(warehouse, () => logLagMs(redis, partitions), now()),
  };
}

/** What is around the stores: the geo file, the other regions, and the services where their address is given. */
function surroundingsChecks(deps: DoctorDeps, { url, canary, websiteId }: Request): Checks {
  const { registry, warehouse, region, settings, now } = deps;
  const checks: Checks = { 'geo file': () => checkGeoFile(settings.GEOIP_DB, now()) };
  for (const peer of settings.PEERS.keys())
    if (peer !== region) checks[`region ${peer}`] = () => checkPeer({ region, settings, now }, peer);
  if (url === undefined) return checks;
  checks.address = () => checkAddress(region, url, now);
  if (!canary) return checks;
  const addressHeader = settings.CLIENT_IP_HEADER ?? 'X-Forwarded-For';
  const sent = checkCanary({ registry, warehouse, url, region, addressHeader, websiteId, now });
  checks.canary = async () => (await sent).canary;
  checks['proxy headers'] = async () =>
    (await sent)['proxy headers'] ?? warn('not known: no event was taken', 'See the check of the canary.');
  return checks;
}

/** Every finding by the name of its check. */
async function examine(checks: Checks): Promise<Record<string, Finding>> {
  const findings = Object.entries(checks).map(
    async ([name, check]) => [name, await endingInTime(check, name === 'rollups' ? warn : fail)] as const,
  );
  return Object.fromEntries(await Promise.all(findings));
}

async function endingInTime(check: () => Promise<Finding>, judge: typeof fail): Promise<Finding> {
  try {
    return await withinMs(checkMaxMs, check(), `no answer within ${checkMaxMs / 1_000} s`);
  } catch (error) {
    return judge(`could not be checked: ${messageOf(error)}`, 'See the checks of the stores.');
  }
}
