import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@meridian/embedded/ports';
import { createClickHouseDatabase, createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { type Api, createApi, eventually, logIn, type Stats, type Website } from './api-client.ts';
import { type Process, startProcess, untilReady } from './processes.ts';

export const regions = ['us', 'eu'] as const;
export type Region = (typeof regions)[number];

const password = 'end-to-end-regions';

/**
 * Two clusters that share the registry and nothing else, each with a Redis and a ClickHouse of its own. `settingsOf`:
 * more settings of the regions, which may lead through proxies to each other and to the registry.
 */
export async function createTwoRegions(
  settingsOf: (given: {
    ports: Record<Region, number>;
    registryUrl: string;
  }) => Promise<Partial<Record<Region, Record<string, string>>>> = async () => ({}),
) {
  const ports = { us: await freePort(), eu: await freePort() };
  const originOf = (region: Region) => `http://127.0.0.1:${ports[region]}`;
  const dataDir = await mkdtemp(join(tmpdir(), 'meridian-two-regions-'));
  const stores = {
    registry: await createPostgresDatabase(),
    us: { redis: await createRedisDatabase(), clickhouse: await createClickHouseDatabase() },
    eu: { redis: await createRedisDatabase(), clickhouse: await createClickHouseDatabase() },
  };
  const settings = await settingsOf({ ports, registryUrl: stores.registry.url });
  const warehouses = { us: createWarehouse(stores.us.clickhouse.url), eu: createWarehouse(stores.eu.clickhouse.url) };
  const processes = new Map<Region, Process>();
  const sessions = new Map<Region, Api>();

  async function start(region: Region): Promise<void> {
    const service = startProcess(process.execPath, ['--import', 'tsx', 'services/standalone/src/main.ts'], {
      REGION: region,
      PORT: String(ports[region]),
      HOST: '127.0.0.1',
      DATA_DIR: join(dataDir, region),
      DATABASE_URL: stores.registry.url,
      REDIS_URL: stores[region].redis.url,
      CLICKHOUSE_URL: stores[region].clickhouse.url,
      APP_SECRET: 'a secret of the end-to-end tests, long enough',
      PEER_SECRET: 'a secret between regions, long enough too',
      PEERS: regions.map((name) => `${name}=${originOf(name)}`).join(','),
      ADMIN_PASSWORD: password,
      ...settings[region],
    });
    processes.set(region, service);
    await untilReady(service, `${originOf(region)}/readyz`);
  }

  /** What a region's own ClickHouse has of a website. */
  async function storedIn(region: Region, website: Website): Promise<Stats> {
    const range = { startAt: new Date(0), endAt: new Date(Date.now() + 86_400_000) };
    const question = { websiteId: website.id, range, filters: [], match: 'all', route: 'test' } as const;
    return (await warehouses[region].getStats(question)).value;
  }

  for (const region of regions) await start(region);
  for (const region of regions) sessions.set(region, await logIn(`${originOf(region)}/api`, 'admin', password));

  return {
    ports,
    originOf,
    start,
    isRunning: (region: Region): boolean => processes.get(region)?.running() ?? false,
    async kill(region: Region): Promise<void> {
      processes.get(region)?.kill('SIGKILL');
      await processes.get(region)?.exited;
    },
    /** Its process stands still, and its connections stand, until `resume`. */
    pause: (region: Region): void => processes.get(region)?.kill('SIGSTOP'),
    resume: (region: Region): void => processes.get(region)?.kill('SIGCONT'),
    /** A key of a new account whose home is the region: with 50 requests of its own. */
    async newKey(region: Region): Promise<string> {
      const username = `user-${randomUUID()}`;
      await sessions.get(region)?.ok('POST', '/users', { username, password, role: 'user' });
      const user = await logIn(`${originOf(region)}/api`, username, password);
      return (await user.ok<{ key: string }>('POST', '/me/api-keys', { name: 'test' })).key;
    },
    createIn: (region: Region, key: string): Promise<Website> =>
      createApi(`${originOf(region)}/v1/${region}`, key).ok('POST', '/websites', {
        name: `site-${randomUUID()}`,
        domain: 'a.example',
      }),
    storedIn,
    untilStoredIn: (region: Region, website: Website, pageviews: number): Promise<Stats> =>
      eventually(
        () => storedIn(region, website),
        (stats) => stats.pageviews >= pageviews,
      ),
    async stop(): Promise<void> {
      for (const service of processes.values()) service.kill('SIGTERM');
      await Promise.all([...processes.values()].map((service) => service.exited));
      await Promise.all(Object.values(warehouses).map((warehouse) => warehouse.close()));
      for (const each of [stores.registry, ...regions.flatMap((name) => [stores[name].redis, stores[name].clickhouse])])
        await each.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
