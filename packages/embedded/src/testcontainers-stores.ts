import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';
import type { Stores } from './stores.ts';

const password = 'meridian';

/** Starts the official images of the three stores in Docker. Rejects when Docker does not answer. */
export async function startTestcontainersStores(redisDatabases: number): Promise<Stores> {
  const starts = await Promise.allSettled([startPostgres(), startClickHouse(), startRedis(redisDatabases)]);
  const stop = async () => {
    await Promise.all(starts.map((start) => start.status === 'fulfilled' && start.value.stop()));
  };
  const [postgres, clickhouse, redis] = starts;
  if (postgres.status === 'fulfilled' && clickhouse.status === 'fulfilled' && redis.status === 'fulfilled') {
    return {
      databaseUrl: `postgres://meridian:${password}@${addressOf(postgres.value, 5432)}/meridian`,
      clickhouseUrl: `http://meridian:${password}@${addressOf(clickhouse.value, 8123)}/meridian`,
      redisUrl: `redis://${addressOf(redis.value, 6379)}`,
      stop,
    };
  }
  await stop();
  const cause = starts.find((start) => start.status === 'rejected')?.reason;
  throw new Error('STORES=testcontainers: the containers did not start. Does Docker answer here?', { cause });
}

function startPostgres(): Promise<StartedTestContainer> {
  return (
    new GenericContainer('postgres:18-alpine')
      .withEnvironment({ POSTGRES_USER: 'meridian', POSTGRES_PASSWORD: password, POSTGRES_DB: 'meridian' })
      .withCommand(['postgres', '-c', 'max_connections=300'])
      .withExposedPorts(5432)
      // The image starts the server once for its own preparations and says so as well.
      .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
      .start()
  );
}

function startClickHouse(): Promise<StartedTestContainer> {
  return new GenericContainer('clickhouse/clickhouse-server:26.7-alpine')
    .withEnvironment({ CLICKHOUSE_USER: 'meridian', CLICKHOUSE_PASSWORD: password, CLICKHOUSE_DB: 'meridian' })
    .withExposedPorts(8123)
    .withUlimits({ nofile: { soft: 262_144, hard: 262_144 } })
    .withWaitStrategy(Wait.forHttp('/ping', 8123).forStatusCode(200))
    .start();
}

function startRedis(databases: number): Promise<StartedTestContainer> {
  return new GenericContainer('redis:8-alpine')
    .withCommand(['redis-server', '--appendonly', 'yes', '--appendfsync', 'always', '--databases', String(databases)])
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .start();
}

const addressOf = (container: StartedTestContainer, port: number) =>
  `${container.getHost()}:${container.getMappedPort(port)}`;
