import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  appSecret,
  ConfigError,
  clickhouseUrl,
  loadConfig,
  logSampleRate,
  port,
  postgresUrl,
  previousAppSecrets,
  redactConfig,
  redisUrl,
  regionName,
  wholeNumber,
} from './config.ts';

const Config = z.object({ PORT: port.default(3000), APP_SECRET: appSecret, REDIS_URL: redisUrl });
const good = { APP_SECRET: 'x'.repeat(32), REDIS_URL: 'redis://127.0.0.1:6379' };

test.each(['', ' ', '\t\n'])('an empty or blank value counts as unset, so the default applies: %j', (blank) => {
  expect(loadConfig(Config, { ...good, PORT: blank }).PORT).toBe(3000);
  expect(() => loadConfig(Config, { ...good, APP_SECRET: blank.repeat(32) })).toThrow(/APP_SECRET: is required$/);
});

test('a fault inside a list is told with the name of its variable', () => {
  const Regions = z.object({ REGIONS: z.preprocess((text) => String(text).split(','), z.array(regionName)) });
  expect(() => loadConfig(Regions, { REGIONS: 'us,EU' })).toThrow(/ {2}REGIONS: must be lower-case/);
});

describe('addresses of stores', () => {
  const Stores = z.object({
    DATABASE_URL: postgresUrl.optional(),
    CLICKHOUSE_URL: clickhouseUrl.optional(),
    REDIS_URL: redisUrl.optional(),
  });

  test.each([
    { DATABASE_URL: 'postgres://me:p%40ss@db.example:5432/meridian?sslmode=require' },
    { DATABASE_URL: 'postgresql:///meridian?host=/run/postgresql' },
    { CLICKHOUSE_URL: 'http://127.0.0.1:8123' },
    { CLICKHOUSE_URL: 'https://reader:p%40ss@clickhouse.example:8443/meridian' },
    { CLICKHOUSE_URL: 'http://[::1]:8123/?database=other_1' },
    { REDIS_URL: 'redis://:p%40ss@127.0.0.1:6379/1' },
    { REDIS_URL: 'rediss://cache.example:6380' },
  ])('are taken as they are: %j', (env) => {
    expect(loadConfig(Stores, env)).toEqual(env);
  });

  test.each([
    ['DATABASE_URL', 'localhost:5432/x'],
    ['DATABASE_URL', 'mysql://127.0.0.1/x'],
    ['DATABASE_URL', 'postgres://me:sec%ret@127.0.0.1/x'],
    ['DATABASE_URL', 'postgres://me:sec#ret@127.0.0.1/x'],
    ['DATABASE_URL', 'postgres://me:5sec#ret@127.0.0.1/x'],
    ['DATABASE_URL', 'postgres://me:5/sec-ret@127.0.0.1/x'],
    ['DATABASE_URL', 'postgres://me:5#sec-ret@127.0.0.1/x'],
    ['DATABASE_URL', 'postgres:5432/meridian'],
    ['CLICKHOUSE_URL', 'localhost:8123'],
    ['CLICKHOUSE_URL', 'tcp://127.0.0.1:9000/x'],
    ['CLICKHOUSE_URL', 'http://127.0.0.1:8123/a-b'],
    ['CLICKHOUSE_URL', 'http://127.0.0.1:8123/a/b'],
    ['CLICKHOUSE_URL', 'http://127.0.0.1:8123/?database=a`b'],
    ['CLICKHOUSE_URL', 'http://me:sec%ret@127.0.0.1:8123'],
    ['REDIS_URL', 'localhost:6379'],
    ['REDIS_URL', 'http://127.0.0.1:6379'],
    ['REDIS_URL', '/run/redis.sock'],
    ['REDIS_URL', 'redis:6379'],
    ['REDIS_URL', 'redis://127.0.0.1:6379/x'],
    ['REDIS_URL', 'redis://127.0.0.1:6379/1/'],
  ])('that no such store can have are refused once, by name and without the password: %s=%s', (name, text) => {
    const load = () => loadConfig(Stores, { [name]: text });
    expect(load).toThrow(ConfigError);
    expect(load).toThrow(new RegExp(`^Configuration is not valid:\n  ${name}: must be like [a-z]+://\\S+.*$`));
    expect(load).not.toThrow(/sec.ret/);
  });

  test('of ClickHouse and Redis say what the name of a database is', () => {
    const env = { CLICKHOUSE_URL: 'https://h/m-x', REDIS_URL: 'redis://h/x' };
    expect(() => loadConfig(Stores, env)).toThrow(/database, if any, made of letters[\s\S]*database, if any, a number/);
  });
});

test('all faults are reported at once, each with its variable', () => {
  const load = () => loadConfig(Config, { PORT: '70000', APP_SECRET: 'short' });
  expect(load).toThrow(ConfigError);
  expect(load).toThrow(/PORT: [\s\S]*APP_SECRET: must have at least 32 bytes[\s\S]*REDIS_URL: is required/);
});

test.each(['', 'x'.repeat(31), 'é'.repeat(15)])(
  'a secret of less than 32 bytes is refused, and named: %j',
  (secret) => {
    expect(() => loadConfig(Config, { ...good, APP_SECRET: secret })).toThrow(/APP_SECRET: (must have|is required)/);
  },
);

describe('previous secrets', () => {
  const Rotating = Config.extend({ APP_SECRET_PREVIOUS: previousAppSecrets });
  const [older, oldest] = ['o'.repeat(32), 'p'.repeat(40)];
  const load = (text?: string) => loadConfig(Rotating, { ...good, APP_SECRET_PREVIOUS: text }).APP_SECRET_PREVIOUS;

  test('are none, one or several between commas', () => {
    expect([load(), load(''), load(older), load(`${older}, ${oldest},`)]).toEqual([[], [], [older], [older, oldest]]);
  });

  test.each(['short', `${older},short`, `short,${older}`])('that are too short are refused, and named: %j', (text) => {
    expect(() => load(text)).toThrow(/APP_SECRET_PREVIOUS: each must have at least 32 bytes/);
  });

  test('are not shown', () => {
    const config = loadConfig(Rotating, { ...good, APP_SECRET_PREVIOUS: older });
    expect(JSON.stringify(redactConfig(config))).not.toContain('ooo');
  });
});

test('the configuration cannot be changed afterwards', () => {
  expect(Object.isFrozen(loadConfig(Config, good))).toBe(true);
});

test('what is logged holds no secret', () => {
  expect(redactConfig({ ...good, PORT: 1, HOST: undefined })).toEqual({
    APP_SECRET: '***',
    REDIS_URL: 'redis://127.0.0.1:6379',
    PORT: 1,
    HOST: undefined,
  });
});

test.each([
  ['postgres://me:hidden@db:5432/x', 'postgres://***@db:5432/x'],
  ['postgres://me:hid@den@db/x', 'postgres://***@db/x'],
  ['postgres://db/x?user=me&password=hidden', 'postgres://db/x'],
  ['postgres://hidden@db/x?sslpassword=hidden', 'postgres://***@db/x'],
  ['redis://:hidden@db:6379/1', 'redis://***@db:6379/1'],
  ['https://db:8443/x?user=me&password=hidden#hidden', 'https://db:8443/x'],
  ['postgres://me:hidden/x', '***'],
])('of an address the log tells no more than where it leads: %s', (address, shown) => {
  expect(redactConfig({ SOME_URL: address })).toEqual({ SOME_URL: shown });
});

test.each([
  ['abc', 'WHOLE: must be a whole number from 1 to 256'],
  ['0', 'WHOLE: must be a whole number from 1 to 256'],
  ['0.5', 'WHOLE: must be a whole number from 1 to 256'],
  ['1e99', 'WHOLE: must be a whole number from 1 to 256'],
])('a number that is none, or out of its range, is told once, with the range: %s', (text, message) => {
  const load = (name: string) => () =>
    loadConfig(
      z.object({
        WHOLE: wholeNumber(1, 256).default(1),
        OPEN: wholeNumber(2).optional(),
        SHARE: logSampleRate.default(1),
      }),
      { [name]: text },
    );
  expect(load('WHOLE')).toThrow(new ConfigError(`Configuration is not valid:\n  ${message}`));
  if (text === '1e99') expect(load('SHARE')).toThrow(/SHARE: must be a number from 0 to 1$/);
  if (text === 'abc') expect(load('OPEN')).toThrow(/OPEN: must be a whole number of at least 2$/);
});
