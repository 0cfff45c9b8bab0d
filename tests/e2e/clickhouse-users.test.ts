import { runClickHouse } from '@meridian/embedded/clickhouse-store';
import { freePort } from '@meridian/embedded/ports';
import {
  createPostgresDatabase,
  createRedisDatabase,
  type ProductUser,
  startOwnClickHouse,
} from '@meridian/embedded/test-stores';
import { dimensions } from '@meridian/warehouse/queries/dimensions';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, always, chrome, createWebsite, eventually, logIn, request, type Stats } from '../api-client.ts';
import { runMeridian } from '../command.ts';
import { type Process, startService, untilReady } from '../processes.ts';

// Production's shape with the users of infra/clickhouse/users.xml: each process may do its own work in ClickHouse and
// nothing else.

const patienceMs = 180_000;
const processes: Process[] = [];
let clickhouse: Awaited<ReturnType<typeof startOwnClickHouse>>;
let env: Record<string, string>;
let drop: () => Promise<unknown>;
let owner: Api;
let collector: string;

const as = (user: ProductUser) => ({ ...env, CLICKHOUSE_URL: clickhouse.urlFor(user) });
const migrator = (...args: string[]) => runMeridian(as('meridian_migrator'), ...args);

beforeAll(async () => {
  const [postgres, redis, own] = await Promise.all([
    createPostgresDatabase(),
    createRedisDatabase(),
    startOwnClickHouse(),
  ]);
  clickhouse = own;
  drop = () => Promise.all([postgres.drop(), redis.drop(), own.stop()]);
  env = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    APP_SECRET: 'a secret of the end-to-end tests, long enough',
    ADMIN_PASSWORD: 'end-to-end',
  };
  // As on a server on which nobody but the users of the product has made anything.
  await runClickHouse(clickhouse.urlFor(), 'DROP DATABASE meridian SYNC');
  await runClickHouse(clickhouse.urlFor(), 'CREATE DATABASE other ENGINE = Atomic');
  await runClickHouse(clickhouse.urlFor(), 'CREATE TABLE other.secrets (text String) ENGINE = MergeTree ORDER BY text');
  const migrated = await migrator('migrate');
  expect([migrated.code, migrated.stderr]).toEqual([0, '']);
  const start = async (name: 'ingest' | 'worker' | 'query', more: Record<string, string>) => {
    const PORT = String(await freePort());
    const service = startService(name, { ...more, PORT });
    processes.push(service);
    await untilReady(service, `http://127.0.0.1:${PORT}/readyz`);
    return `http://127.0.0.1:${PORT}/api`;
  };
  collector = await start('ingest', env);
  await start('worker', as('meridian_writer'));
  owner = await logIn(await start('query', as('meridian_reader')), 'admin', 'end-to-end');
}, patienceMs);

afterAll(async () => {
  for (const process of processes) process.kill('SIGTERM');
  await Promise.all(processes.map((process) => process.exited));
  await drop?.();
});

async function send(website: string, payloads: object[]): Promise<void> {
  for (const { type = 'event', ...payload } of payloads as { type?: string }[]) {
    const body = { type, payload: { website, ...payload } };
    const answer = await request('POST', `${collector}/send`, { headers: { 'user-agent': chrome }, body });
    expect(answer.status, answer.text).toBe(200);
  }
}
const pageviews = (website: string) => owner.get<Stats>(`/websites/${website}/stats`, always());
const errorLines = () =>
  processes.flatMap((service) => service.output().split('\n')).filter((line) => /"level":[56]0/.test(line));

describe('with a user of its own for each process', () => {
  test(
    'events are stored and every question is answered',
    async () => {
      const { id } = await createWebsite(owner);
      await send(id, [
        { url: '/a?utm_source=news', title: 'A', id: 'visitor', referrer: 'https://a.example/x', language: 'en-GB' },
        { url: '/b', name: 'signup', data: { plan: 'pro' }, id: 'visitor', tag: 'x' },
        { type: 'identify', id: 'visitor', data: { name: 'Ada' } },
        { type: 'performance', url: '/a', lcp: 1200 },
      ]);
      await eventually(
        () => pageviews(id),
        (stats) => stats.visits === 1 && stats.pageviews === 1,
      );
      const create = (type: string, parameters: object) =>
        owner.ok<{ id: string }>('POST', `/websites/${id}/segments`, { type, name: type, parameters });
      const segment = await create('segment', { filters: [{ name: 'path', operator: 'c', value: 'a' }] });
      const cohort = await create('cohort', { dateRange: '30day', action: { type: 'event', value: 'signup' } });
      const selections: Record<string, string | number>[] = [
        {},
        { path: 're.^/a', title: 'c.a', match: 'any' },
        { compare: 'prev', excludeBounce: 'true' },
        { segment: segment.id, cohort: cohort.id },
        { eventType: 2, search: 'sign' },
        { startAt: Date.now() - 3_600_000, endAt: Date.now(), unit: 'minute', timezone: 'Europe/Berlin' },
      ];
      const routes = ['stats', 'pageviews', 'events', 'active', 'metrics', 'metrics/expanded'];
      for (const route of routes)
        for (const selection of selections)
          await owner.get(`/websites/${id}/${route}`, { ...always(), unit: 'month', type: 'path', ...selection });
      for (const type of Object.keys(dimensions))
        for (const route of ['metrics', 'metrics/expanded'])
          await owner.get(`/websites/${id}/${route}`, { ...always(), type });
      expect(errorLines()).toEqual([]);
    },
    patienceMs,
  );

  test(
    'what a reset or deleted website leaves is removed',
    async () => {
      const [reset, deleted] = [await createWebsite(owner), await createWebsite(owner)];
      for (const { id } of [reset, deleted]) {
        await send(id, [{ url: '/a' }, { type: 'identify', id: 'visitor', data: { a: 1 } }]);
        await eventually(
          () => pageviews(id),
          (stats) => stats.pageviews === 1,
        );
      }
      await owner.ok('POST', `/websites/${reset.id}/reset`);
      await owner.ok('DELETE', `/websites/${deleted.id}`);
      const ids = `'${reset.id}', '${deleted.id}'`;
      for (const table of ['events', 'session_properties', 'site_visits', 'site_15m', 'site_texts'])
        await expect
          .poll(() =>
            runClickHouse(clickhouse.urlFor(), `SELECT count() FROM meridian.${table} WHERE website_id IN (${ids})`),
          )
          .toBe('0\n');
      await send(reset.id, [{ url: '/b' }]);
      await eventually(
        () => pageviews(reset.id),
        (stats) => stats.pageviews === 1,
      );
      expect(errorLines()).toEqual([]);
    },
    patienceMs,
  );

  test(
    'the operator finds everything in order, repairs rollups and changes how long events are kept',
    async () => {
      for (const args of [
        ['doctor'],
        ['check-rollups'],
        ['check-rollups', '--repair'],
        ['migrate'],
        ['migrate', '--dry-run'],
      ]) {
        const { code, stdout, stderr } = await migrator(...args);
        expect([args, code, stderr], stdout).toEqual([args, 0, '']);
      }
      const keeping = (...args: string[]) =>
        runMeridian({ ...as('meridian_migrator'), RETENTION_DAYS: '400' }, 'migrate', ...args);
      const plan = await keeping('--dry-run');
      expect([plan.code, plan.stdout]).toEqual([1, expect.stringContaining('events: MODIFY TTL')]);
      expect((await keeping()).code).toBe(0);
      expect((await keeping('--dry-run')).stdout).toBe('There is nothing to do.\n');
    },
    patienceMs,
  );
});

/** The code with which ClickHouse refuses the statement; '' when it does not. */
const refusalOf = (user: ProductUser, statement: string): Promise<string> =>
  runClickHouse(clickhouse.urlFor(user), statement).then(
    () => '',
    (error: Error) => /Code: (\d+)/.exec(error.message)?.[1] ?? error.message,
  );
const denied = '497';
const isNoFile = '358';
/** Of settings: beyond their constraints, changes of what is read only, of what DDL needs. */
const unsettable = ['452', '164', '392'];

describe('the reader', () => {
  test.each([
    "INSERT INTO meridian.site_texts VALUES ('00000000-0000-4000-8000-000000000001', '2026-01-01', 'path', '/', 1)",
    'DELETE FROM meridian.events WHERE 1',
    'ALTER TABLE meridian.events DELETE WHERE 1',
    'ALTER TABLE meridian.events ADD COLUMN x UInt8',
    'TRUNCATE TABLE meridian.events',
    'DROP TABLE meridian.events',
    'DROP DATABASE meridian',
    'CREATE TABLE meridian.mine (x UInt8) ENGINE = Memory',
    'CREATE DATABASE mine',
    'OPTIMIZE TABLE meridian.events',
    'SYSTEM STOP MERGES meridian.events',
    "KILL QUERY WHERE user = 'meridian_writer'",
    'SELECT * FROM other.secrets',
    'SELECT * FROM meridian.events, other.secrets',
    "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
    "SELECT * FROM remote('127.0.0.1', 'other', 'secrets')",
    "SELECT * FROM meridian.events INTO OUTFILE '/tmp/x'",
  ])('may not: %s', async (statement) => {
    expect([denied, isNoFile]).toContain(await refusalOf('meridian_reader', statement));
  });

  test.each([
    'max_execution_time = 16',
    'max_execution_time = 0',
    'max_memory_usage = 4000000001',
    'max_memory_usage = 0',
    'max_rows_to_read = 2000000001',
    'max_rows_to_read = 0',
    'max_result_rows = 100001',
    'max_result_rows = 0',
    "timeout_overflow_mode = 'break'",
    "read_overflow_mode = 'break'",
    "result_overflow_mode = 'break'",
    'allow_ddl = 1',
    'readonly = 0',
    'readonly = 1',
  ])('may not set %s', async (setting) => {
    expect(unsettable).toContain(await refusalOf('meridian_reader', `SELECT 1 SETTINGS ${setting}`));
  });

  test('may ask within its limits, which hold without being asked for', async () => {
    expect(await refusalOf('meridian_reader', 'SELECT count() FROM meridian.events')).toBe('');
    expect(await refusalOf('meridian_reader', 'SELECT 1 SETTINGS max_execution_time = 5, max_rows_to_read = 10')).toBe(
      '',
    );
    expect(await refusalOf('meridian_reader', 'SELECT * FROM meridian.events LIMIT 1')).toBe('');
    const settings = "SELECT getSetting('max_execution_time'), getSetting('max_rows_to_read'), getSetting('readonly')";
    expect(await runClickHouse(clickhouse.urlFor('meridian_reader'), settings)).toBe('15\t2000000000\t2\n');
  });
});

describe('the writer', () => {
  test.each([
    'DROP TABLE meridian.events',
    'DROP DATABASE meridian',
    'TRUNCATE TABLE meridian.events',
    'ALTER TABLE meridian.events DROP COLUMN tag',
    'ALTER TABLE meridian.events MODIFY TTL toDateTime(created_at) + toIntervalDay(1)',
    "ALTER TABLE meridian.events UPDATE tag = '' WHERE 1",
    'RENAME TABLE meridian.events TO meridian.gone',
    'DETACH TABLE meridian.events',
    'CREATE TABLE meridian.mine (x UInt8) ENGINE = Memory',
    'CREATE DATABASE mine',
    'SELECT * FROM other.secrets',
    "INSERT INTO other.secrets VALUES ('x')",
    'SYSTEM STOP MERGES meridian.events',
    'SYSTEM SHUTDOWN',
    'CREATE USER me',
    'GRANT ALL ON *.* TO meridian_writer',
  ])('may not: %s', async (statement) => {
    expect(await refusalOf('meridian_writer', statement)).toBe(denied);
  });
});

test('the migrator may do nothing outside of the database of the product', async () => {
  for (const statement of [
    'DROP TABLE other.secrets',
    'SELECT * FROM other.secrets',
    "INSERT INTO other.secrets VALUES ('x')",
    'CREATE DATABASE mine',
    'CREATE USER me',
    'SYSTEM SHUTDOWN',
    "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
  ])
    expect([statement, await refusalOf('meridian_migrator', statement)]).toEqual([statement, denied]);
});
