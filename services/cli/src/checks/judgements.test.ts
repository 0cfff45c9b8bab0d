import type { EventCounts } from '@meridian/queue/event-counts';
import { describe, expect, test } from 'vitest';
import { judgeAddresses } from './canary.ts';
import { judgeClickHouse, judgeRollups } from './clickhouse.ts';
import { judgeClocks, measureClock } from './clocks.ts';
import { judgeAccounting } from './event-log.ts';
import { judgeGeoFile } from './geo-file.ts';
import { judgePostgres } from './postgres.ts';
import { judgeRedisSettings } from './redis.ts';
import { judgeAnswer } from './regions.ts';

describe('settings of Redis', () => {
  const asShipped = {
    appendonly: 'yes',
    appendfsync: 'always',
    maxmemory: '2147483648',
    'maxmemory-policy': 'noeviction',
  };
  test.each([
    ['OK', {}],
    ['FAIL', { appendonly: 'no' }],
    ['FAIL', { 'maxmemory-policy': 'allkeys-lru' }],
    ['FAIL', { appendfsync: 'no' }],
    ['WARN', { appendfsync: 'everysec' }],
    ['WARN', { maxmemory: '0' }],
  ])('are %s with %j', (status, changes) => {
    expect(judgeRedisSettings({ ...asShipped, ...changes }).status).toBe(status);
  });
});

describe('a schema', () => {
  const postgres = { version: '18.4', missingMigrations: [], isNewer: false };
  const clickhouse = { version: '26.7', missingMigrations: [], missingViews: [], isNewer: false, syncsInserts: true };
  test('that lacks a migration is a failure that names it and the command', () => {
    const missing = { missingMigrations: ['0002_new'] };
    for (const finding of [judgePostgres({ ...postgres, ...missing }), judgeClickHouse({ ...clickhouse, ...missing })])
      expect(finding).toMatchObject({
        status: 'FAIL',
        detail: expect.stringContaining('0002_new'),
        advice: 'Run: npm run migrate',
      });
  });

  test('of this version is fine; one of a later version, and inserts that are not synced, are not', () => {
    expect([judgePostgres(postgres).status, judgeClickHouse(clickhouse).status]).toEqual(['OK', 'OK']);
    expect(judgePostgres({ ...postgres, isNewer: true }).status).toBe('WARN');
    expect(judgeClickHouse({ ...clickhouse, isNewer: true }).status).toBe('WARN');
    expect(judgeClickHouse({ ...clickhouse, syncsInserts: false }).status).toBe('WARN');
  });
});

test('a view that is gone is a failure that names it', () => {
  const state = {
    version: '26.7',
    missingMigrations: [],
    missingViews: ['site_15m_mv'],
    isNewer: false,
    syncsInserts: true,
  };
  expect(judgeClickHouse(state)).toMatchObject({ status: 'FAIL', detail: expect.stringContaining('site_15m_mv') });
});

describe('the accounting', () => {
  const still: EventCounts = { accepted: 100, queued: 10, stored: 80, deadLettered: 5, removed: 3, dropped: 2 };
  const found = { queued: 10, deadLettered: 5 };
  const statusOf = (before: EventCounts, seen: typeof found, after: EventCounts) =>
    judgeAccounting(before, seen, after).status;

  test('is right when nothing moves and all agrees', () => {
    expect(statusOf(still, found, still)).toBe('OK');
  });

  test.each<[string, typeof found, Partial<EventCounts>]>([
    ['an accepted event is nowhere', found, { accepted: 101 }],
    ['an event is stored that nobody accepted', found, { stored: 81 }],
    ['the log has lost an event', { ...found, queued: 9 }, {}],
    ['the log holds one too many', { ...found, queued: 11 }, {}],
    ['a dead letter is lost', { ...found, deadLettered: 4 }, {}],
    ['there is a dead letter too many', { ...found, deadLettered: 6 }, {}],
  ])('is wrong when %s', (_, seen, changes) => {
    const counts = { ...still, ...changes };
    expect(statusOf(counts, seen, counts)).toBe('FAIL');
  });

  test('bears with what comes and goes while it is counted, and with no more', () => {
    const after = { ...still, accepted: 130, stored: 86, queued: 34 }; // 30 came, 6 went
    for (const queued of [4, 10, 34, 40]) expect(statusOf(still, { ...found, queued }, after)).toBe('OK');
    for (const queued of [3, 41]) expect(statusOf(still, { ...found, queued }, after)).toBe('FAIL');
  });

  test('bears with dead letters that are made or replayed meanwhile', () => {
    const made = { ...still, queued: 8, deadLettered: 7 };
    expect(statusOf(still, { queued: 9, deadLettered: 6 }, made)).toBe('OK');
    expect(statusOf(made, { queued: 9, deadLettered: 6 }, still)).toBe('OK');
    expect(statusOf(made, { queued: 11, deadLettered: 6 }, still)).toBe('FAIL');
  });
});

describe('clocks', () => {
  test('are measured by the middle of question and answer', async () => {
    const times = [1_000, 1_400];
    const now = () => new Date(times.shift() ?? 0);
    expect(await measureClock(async () => new Date(6_200), now)).toBe(5_000);
  });

  test.each([
    ['OK', 1_900],
    ['WARN', 2_100],
    ['WARN', -59_000],
    ['FAIL', 61_000],
    ['FAIL', -61_000],
  ])('are %s when one is ahead by %d ms', (status, ms) => {
    const aheadMs = new Map([
      ['Postgres', 0],
      ['Redis', ms],
    ]);
    expect(judgeClocks(aheadMs)).toMatchObject({ status, detail: expect.stringContaining('Postgres +0.0 s, Redis') });
  });
});

describe('an address', () => {
  const answer = { region: 'eu', latencyMs: 12.4, aheadMs: 0 };
  test.each([
    ['OK', {}],
    ['OK', { aheadMs: null }],
    ['FAIL', { region: 'us' }],
    ['FAIL', { region: '' }],
    ['WARN', { aheadMs: -120_000 }],
    ['FAIL', { aheadMs: 900_000 }],
  ])('is %s with %j', (status, changes) => {
    expect(judgeAnswer('eu', 'https://eu.example', { ...answer, ...changes }).status).toBe(status);
  });
});

test('rollups agree only when every row was compared', () => {
  const drifts = [{ websiteId: 'w', table: 'site_15m', rows: 2 } as const];
  expect(judgeRollups({ drifts: [], undecided: 0 }, 0).status).toBe('OK');
  expect(judgeRollups({ drifts: [], undecided: 7 }, 0)).toMatchObject({
    status: 'WARN',
    detail: expect.stringContaining('7 rows'),
  });
  expect(judgeRollups({ drifts, undecided: 7 }, 0)).toMatchObject({
    status: 'FAIL',
    detail: '2 rows of site_15m of website w',
  });
});

test('rollups that differ while an event waits for long may lack what a worker is to send again', () => {
  const drifts = [{ websiteId: 'w', table: 'site_15m', rows: 2 } as const];
  expect(judgeRollups({ drifts, undecided: 0 }, 61_000)).toMatchObject({
    status: 'WARN',
    detail: '2 rows of site_15m of website w',
    advice: expect.stringContaining('waits for 61 s'),
  });
  expect(judgeRollups({ drifts: [], undecided: 0 }, 61_000).status).toBe('OK');
});

test('a geo file is told with its kind and day, and is old after a year', () => {
  const now = new Date('2026-06-10T00:00:00Z');
  const judge = (builtAt: string) => judgeGeoFile('/geo.mmdb', 'City', new Date(builtAt), now);
  expect(judge('2026-05-01T00:00:00Z')).toEqual({ status: 'OK', detail: '/geo.mmdb: City, of 2026-05-01' });
  expect(judge('2025-01-01T00:00:00Z').status).toBe('WARN');
});

test('made-up addresses that are believed are worth a look', () => {
  expect([judgeAddresses('X-Forwarded-For', false).status, judgeAddresses('X-Forwarded-For', true).status]).toEqual([
    'OK',
    'WARN',
  ]);
});
