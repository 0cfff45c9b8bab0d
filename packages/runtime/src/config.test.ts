import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  appSecret,
  ConfigError,
  loadConfig,
  logSampleRate,
  port,
  previousAppSecrets,
  redactConfig,
  wholeNumber,
} from './config.ts';

const Config = z.object({ PORT: port.default(3000), APP_SECRET: appSecret, REDIS_URL: z.url() });
const good = { APP_SECRET: 'x'.repeat(32), REDIS_URL: 'redis://127.0.0.1:6379' };

test('an empty value counts as unset, so the default applies', () => {
  expect(loadConfig(Config, { ...good, PORT: '' }).PORT).toBe(3000);
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

test('what is logged holds no secret and no credentials of a URL', () => {
  const shown = JSON.stringify(redactConfig({ ...good, DATABASE_URL: 'postgres://me:hidden@db/x', PORT: 1 }));
  expect(shown).not.toMatch(/xxxx|hidden/);
  expect(shown).toMatch(/postgres:\/\/\*\*\*@db\/x/);
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
