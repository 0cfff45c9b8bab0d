import { loadConfig } from '@meridian/runtime/config';
import { expect, test } from 'vitest';
import { CollectSettings } from './config.ts';

const secret = { APP_SECRET: 'a secret of at least thirty-two bytes' };

test('only the secret must be given', () => {
  expect(loadConfig(CollectSettings, secret)).toEqual({
    ...secret,
    APP_SECRET_PREVIOUS: [],
    REGION: 'us',
    PEERS: new Map(),
    TRUSTED_PROXIES: [],
    BOT_FILTER: 'crawlers',
    IGNORE_IP: [],
    COLLECT_OVERRIDES: 'on',
    FORWARD_SPOOL: 'off',
    FORWARD_SPOOL_MAX_BYTES: 268_435_456,
    EVENT_LOG_PARTITIONS: 1,
    EVENT_LOG_MAX_AGE_S: 86_400,
    LOG_SAMPLE_RATE: 0,
  });
});

test('lists of addresses are separated by commas', () => {
  const { TRUSTED_PROXIES } = loadConfig(CollectSettings, { ...secret, TRUSTED_PROXIES: '10.0.0.0/8, ::1,' });
  expect(TRUSTED_PROXIES).toEqual(['10.0.0.0/8', '::1']);
});

test('an entry that is no address is named, beside all other faults', () => {
  const faulty = { ...secret, TRUSTED_PROXIES: 'proxy.example', IGNORE_IP: '10.0.0.0/99', BOT_FILTER: 'all' };
  expect(() => loadConfig(CollectSettings, faulty)).toThrow(
    /"proxy\.example"[\s\S]*BOT_FILTER[\s\S]*"10\.0\.0\.0\/99"/,
  );
});
