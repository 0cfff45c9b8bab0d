import { randomUUID } from 'node:crypto';
import { runClickHouse } from '@meridian/embedded/clickhouse-store';
import { createTestProxy } from '@meridian/embedded/test-proxy';
import { createClickHouseDatabase, createPostgresDatabase, createRedisDatabase } from '@meridian/embedded/test-stores';
import type { PendingEvent } from '@meridian/queue/collected-event';
import { createEventLog } from '@meridian/queue/event-log';
import { deadLettersKey, eventsKeys } from '@meridian/queue/log-keys';
import { createRecordedIds, pendingEvent } from '@meridian/queue/test-events';
import { connectProducer, patience } from '@meridian/queue/test-redis';
import { createTestRegistry } from '@meridian/registry/registry-fixtures';
import { createLogger } from '@meridian/runtime/logger';
import { connectRedis } from '@meridian/runtime/redis';
import { createWarehouse } from '@meridian/warehouse/warehouse';
import { createWorker, type Worker, type WorkerDeps } from './create-worker.ts';
import { createWorkerCounts } from './worker-counts.ts';

export const partitions = 3;
export const silent = createLogger({ service: 'worker', level: 'silent' });

export type WorkerFixture = Awaited<ReturnType<typeof createWorkerFixture>>;

/**
 * For tests: empty stores of their own with ClickHouse behind a proxy, ways to fill the log and to look at what became
 * of it. `own`: stores of the test alone, instead of those that all tests share.
 */
export async function createWorkerFixture(own: { redisUrl?: string; clickhouseUrl?: string } = {}) {
  const keep = async () => {};
  const clickhouse = own.clickhouseUrl
    ? { url: own.clickhouseUrl, database: new URL(own.clickhouseUrl).pathname.slice(1), drop: keep }
    : await createClickHouseDatabase();
  const redisDatabase = own.redisUrl ? { url: own.redisUrl, drop: keep } : await createRedisDatabase();
  const registry = await createTestRegistry(await createPostgresDatabase());
  const direct = new URL(clickhouse.url);
  const proxy = await createTestProxy({ host: direct.hostname, port: Number(direct.port) });
  const proxied = new URL(direct);
  proxied.host = `127.0.0.1:${proxy.port}`;
  await createWarehouse(clickhouse.url).migrate();

  const redis = await connectProducer(redisDatabase.url, patience.commandTimeout);
  const { ids, given } = createRecordedIds();
  const log = createEventLog({ redis, partitions, ids, appendMaxWaitMs: patience.appendMaxWaitMs });
  const owner = await registry.newUser();
  const ends: (() => Promise<void> | void)[] = [];
  const perPartition = <Value>(ask: (partition: number) => Promise<Value>): Promise<Value[]> =>
    Promise.all(Array.from({ length: partitions }, (_, partition) => ask(partition)));

  const placed = (changes: Partial<PendingEvent>[]) =>
    changes.map((change) => ({ event: pendingEvent({ sessionId: randomUUID(), ...change }) }));

  /** Appends events as one request; gives their ids. */
  async function append(...changes: Partial<PendingEvent>[]): Promise<string[]> {
    const before = given.length;
    const appended = log.append({ placements: placed(changes) });
    // An append takes its ids at once.
    const own = given.slice(before);
    await appended;
    return own;
  }

  /** The same for events that were collected at another time than now, Unix ms. */
  async function appendCollectedAt(atMs: number, ...changes: Partial<PendingEvent>[]): Promise<string[]> {
    const then = createRecordedIds(() => atMs);
    await createEventLog({ redis, partitions, ids: then.ids }).append({ placements: placed(changes) });
    return then.given;
  }

  /** One column of the answer, as text. */
  async function ask(query: string): Promise<string[]> {
    const answer = await runClickHouse(clickhouse.url, query.replaceAll('{db}', clickhouse.database));
    return answer.split('\n').filter((line) => line !== '');
  }

  /** A worker in this process on connections of its own, not yet running. `redisUrl`: another way to the same Redis. */
  function newWorker(
    changes: Partial<Pick<WorkerDeps, 'redis' | 'registry' | 'warehouse' | 'counts'>> = {},
    redisUrl = redisDatabase.url,
  ): Worker {
    const connect = () => connectRedis(redisUrl, { role: 'worker', logger: silent });
    const connections = { redis: connect(), subscriber: connect() };
    const waitingRedis = { live: connect(), backfill: connect() };
    const warehouse = createWarehouse(proxied.href);
    const worker = createWorker({
      ...connections,
      waitingRedis,
      redisUrl,
      registry: registry.registry,
      warehouse,
      config: {
        REGION: 'us',
        EVENT_LOG_PARTITIONS: partitions,
        FLUSH_MAX_ROWS: 50_000,
        FLUSH_MAX_WAIT_MS: 50,
        RECLAIM_IDLE_MS: 1_000,
      },
      logger: silent,
      counts: createWorkerCounts(),
      ...changes,
    });
    ends.push(async () => {
      await worker.stop();
      for (const connection of [...Object.values(connections), ...Object.values(waitingRedis)]) connection.disconnect();
      await warehouse.close();
    });
    return worker;
  }

  return {
    ...registry,
    proxy,
    log,
    redis,
    urls: { redis: redisDatabase.url, postgres: registry.url, clickhouse: proxied.href },
    warehouse: createWarehouse(clickhouse.url),
    newWebsite: async () => (await registry.newWebsite(owner)).id,
    append,
    appendCollectedAt,
    ask,
    newWorker,
    /** Ids of the stored events, one for each row. */
    storedIds: async (websiteId?: string) =>
      (await ask(`SELECT event_id FROM {db}.events ${websiteId ? `WHERE website_id = '${websiteId}'` : ''}`)).sort(),
    entriesLeft: async () =>
      (await Promise.all(eventsKeys(partitions).map((stream) => redis.xlen(stream)))).reduce((sum, n) => sum + n, 0),
    /** Reason and event id of each dead letter. */
    deadLetters: async () =>
      (await perPartition((p) => redis.xrange(deadLettersKey(p), '-', '+')))
        .flat()
        .map(([, fields]) => ({ reason: String(fields[3]), eventId: String(JSON.parse(String(fields[5])).eventId) })),
    async close() {
      for (const end of ends) await end();
      await proxy.close();
      redis.disconnect();
      await registry.close();
      await Promise.all([redisDatabase.drop(), clickhouse.drop()]);
    },
  };
}
