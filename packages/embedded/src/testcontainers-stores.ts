import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';
import { durableSettings, logicalDatabases } from './redis-store.ts';
import type { Stores, StoresOptions } from './stores.ts';

const password = 'meridian';

/** Addresses of servers that are there already. */
export type GivenStores = Pick<StoresOptions, 'databaseUrl' | 'clickhouseUrl' | 'redisUrl'>;

/**
 * Starts the official images of the stores in Docker; a store whose address is given is not started. Rejects when
 * Docker does not answer. The containers also go when this process is killed: testcontainers runs one that watches it.
 */
export async function startTestcontainersStores(given: GivenStores): Promise<Stores> {
  const running: StartedTestContainer[] = [];
  const stop = async () => void (await Promise.all(running.map((container) => container.stop())));
  const start = async (container: GenericContainer, port: number) => {
    const started = await container.withExposedPorts(port).start();
    running.push(started);
    return `${started.getHost()}:${started.getMappedPort(port)}`;
  };
  const starts = [
    given.databaseUrl ?? start(postgres(), 5432).then((host) => `postgres://meridian:${password}@${host}/meridian`),
    given.clickhouseUrl ?? start(clickhouse(), 8123).then((host) => `http://meridian:${password}@${host}/meridian`),
    given.redisUrl ?? start(redis(), 6379).then((host) => `redis://${host}`),
  ] as const;
  await Promise.allSettled(starts);
  try {
    const [databaseUrl, clickhouseUrl, redisUrl] = await Promise.all(starts);
    return { databaseUrl, clickhouseUrl, redisUrl, stop };
  } catch (cause) {
    await stop();
    throw new Error('STORES=testcontainers: the containers did not start. Does Docker answer here?', { cause });
  }
}

function postgres(): GenericContainer {
  return (
    new GenericContainer('postgres:18-alpine')
      .withEnvironment({ POSTGRES_USER: 'meridian', POSTGRES_PASSWORD: password, POSTGRES_DB: 'meridian' })
      .withCommand(['postgres', '-c', 'max_connections=300'])
      // The image starts the server a first time for its own preparations, which says the same.
      .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
  );
}

function clickhouse(): GenericContainer {
  return new GenericContainer('clickhouse/clickhouse-server:26.7-alpine')
    .withEnvironment({ CLICKHOUSE_USER: 'meridian', CLICKHOUSE_PASSWORD: password, CLICKHOUSE_DB: 'meridian' })
    .withUlimits({ nofile: { soft: 262_144, hard: 262_144 } })
    .withWaitStrategy(Wait.forHttp('/ping', 8123).forStatusCode(200));
}

function redis(): GenericContainer {
  const settings = { ...durableSettings, databases: logicalDatabases };
  return new GenericContainer('redis:8-alpine')
    .withCommand(['redis-server', ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])])
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/));
}
