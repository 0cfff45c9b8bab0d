import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runClickHouse } from '@meridian/embedded/clickhouse-store';
import { freePort } from '@meridian/embedded/ports';
import { runPostgres } from '@meridian/embedded/postgres-store';
import { createTestProxy, type TestProxy } from '@meridian/embedded/test-proxy';
import { migrate } from '@meridian/registry/migrate';
import { findWrongRows } from '@meridian/warehouse/rollups/test-rollups';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { Redis } from 'ioredis';
import { createApi, createWebsite, request } from '../api-client.ts';
import { type Process, startProcess, untilReady } from '../processes.ts';
import { makeServiceImage } from '../service-image.ts';
import { createStores } from '../stores.ts';

export type ServiceName = 'ingest' | 'worker' | 'query';
type StoreName = 'redis' | 'clickhouse' | 'postgres';

/** A service's process and its successors on the same port. */
export type Member = {
  readonly name: ServiceName;
  readonly port: number;
  process(): Process;
  /** Resolves when it runs, whether or not its stores answer. `more`: of its environment, this time. */
  start(more?: Record<string, string>): Promise<void>;
  /** Memory that it holds, in bytes. */
  residentBytes(): Promise<number>;
  /** Ends it by the signal, and gives its exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
};

export type System = Awaited<ReturnType<typeof startSystem>>;

export type SystemOptions = {
  /** How many processes of each service are started; one unless given. */
  counts?: Partial<Record<ServiceName, number>>;
  /** A Redis of the test alone, instead of a database in that of the test run. */
  redisUrl?: string;
  /** The same for ClickHouse. */
  clickhouseUrl?: string;
  /** More of the services' environment. */
  env?: Record<string, string>;
  partitions?: number;
};

const password = 'resilience';

/**
 * The product as production runs it, each service a bundle and a process of its own, on empty databases. Between the
 * services and every store is a proxy, by which the test makes it fail; the test itself goes around it.
 */
export async function startSystem(options: SystemOptions = {}) {
  const { counts = {}, redisUrl, clickhouseUrl, env: more = {}, partitions = 1 } = options;
  const stores = await createStores();
  const urls = {
    ...stores.env,
    ...(redisUrl && { REDIS_URL: redisUrl }),
    ...(clickhouseUrl && { CLICKHOUSE_URL: clickhouseUrl }),
  };
  const images = await mkdtemp(join(tmpdir(), 'meridian-resilience-'));
  const redis = new Redis(urls.REDIS_URL, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  redis.on('error', () => {}); // the test ended it
  const proxies: Record<StoreName, TestProxy> = {
    redis: await proxyOf(urls.REDIS_URL),
    clickhouse: await proxyOf(urls.CLICKHOUSE_URL),
    postgres: await proxyOf(urls.DATABASE_URL),
  };
  const env = {
    REDIS_URL: throughProxy(urls.REDIS_URL, proxies.redis),
    CLICKHOUSE_URL: throughProxy(urls.CLICKHOUSE_URL, proxies.clickhouse),
    DATABASE_URL: throughProxy(urls.DATABASE_URL, proxies.postgres),
    APP_SECRET: 'a secret of the resilience tests, long enough',
    ADMIN_PASSWORD: password,
    EVENT_LOG_PARTITIONS: String(partitions),
    // Short, so that a crash does not cost a quarter of a minute; the order of events is the same.
    RECLAIM_IDLE_MS: '2000',
    LOG_LEVEL: 'warn',
    ...more,
  };
  const members: Record<ServiceName, Member[]> = { ingest: [], worker: [], query: [] };

  async function add(name: ServiceName): Promise<Member> {
    const port = await freePort();
    const entry = join(images, name, 'bin/main.js');
    let running: Process | undefined;
    const member: Member = {
      name,
      port,
      process: () => running ?? missing(`${name} was not started`),
      async start(own = {}) {
        running = startProcess(process.execPath, [entry], { ...env, PORT: String(port), ...own });
        await untilReady(running, `http://127.0.0.1:${port}/livez`);
      },
      async residentBytes() {
        const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(member.process().pid)]);
        return Number(stdout) * 1_024;
      },
      async end(signal) {
        running?.kill(signal);
        return running ? running.exited : null;
      },
    };
    members[name].push(member);
    return member;
  }

  async function stop(): Promise<void> {
    for (const proxy of Object.values(proxies)) proxy.goUp();
    await Promise.all(Object.values(members).flatMap((some) => some.map((member) => member.end('SIGKILL'))));
    redis.disconnect();
    await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
    await stores.drop();
    await rm(images, { recursive: true, force: true });
  }

  async function start(): Promise<{ origin: string; token: string }> {
    await migrate(urls.DATABASE_URL);
    const warehouse = createWarehouse(urls.CLICKHOUSE_URL);
    await warehouse.migrate();
    await warehouse.close();
    for (const name of ['ingest', 'worker', 'query'] as const) {
      await makeServiceImage(name, join(images, name));
      const count = counts[name] ?? 1;
      await Promise.all(Array.from({ length: count }, async () => (await add(name)).start()));
    }
    const origin = `http://127.0.0.1:${members.query[0]?.port}`;
    const answer = await request('POST', `${origin}/api/auth/login`, { body: { username: 'admin', password } });
    if (answer.status !== 200) throw new Error(answer.text);
    return { origin, token: (answer.body as { token: string }).token };
  }

  try {
    const { origin, token } = await start();
    const api = createApi(`${origin}/api`, token);
    return {
      /** The administrator's way to the public API. */
      api,
      /** The same by hand, for answers that are no 200. */
      caller: { origin, headers: { authorization: `Bearer ${token}` } },
      redis,
      proxies,
      members,
      partitions,
      ingestPorts: () => members.ingest.map((member) => member.port),
      /** Until its stores answer it, too. */
      untilReady: (member: Member) => untilReady(member.process(), `http://127.0.0.1:${member.port}/readyz`),
      newWebsite: async () => (await createWebsite(api)).id,
      /** One statement, around the proxy; `{db}` is the product's database. Gives the lines of the answer. */
      async clickhouse(statement: string): Promise<string[]> {
        const database = new URL(urls.CLICKHOUSE_URL).pathname.slice(1);
        const answer = await runClickHouse(urls.CLICKHOUSE_URL, statement.replaceAll('{db}', database));
        return answer.split('\n').filter((line) => line !== '');
      },
      /** Rows of rollups that are not what the website's events make of them, around the proxy. */
      wrongRows: (websiteId: string) => findWrongRows(urls.CLICKHOUSE_URL, websiteId),
      /** One statement, around the proxy. Gives its rows. */
      postgres: (statement: string) => runPostgres(urls.DATABASE_URL, statement),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const defaultPorts: Record<string, number> = { 'redis:': 6379, 'http:': 8123, 'postgres:': 5432 };

function proxyOf(url: string): Promise<TestProxy> {
  const { hostname, port, protocol } = new URL(url);
  return createTestProxy({ host: hostname, port: Number(port) || (defaultPorts[protocol] ?? 0) });
}

function throughProxy(url: string, proxy: TestProxy): string {
  const proxied = new URL(url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(proxy.port);
  return proxied.href;
}

function missing(what: string): never {
  throw new Error(what);
}
