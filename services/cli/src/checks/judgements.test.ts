import type { EventCounts } from '@meridian/queue/event-counts';
import { describe, expect, test } from 'vitest';
import { judgeClickHouse } from './clickhouse.ts';
import { judgeAccounting } from './event-log.ts';
import { judgePostgres } from './postgres.ts';
import { judgeRedisSettings } from './redis.ts';

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
  const clickhouse = { version: '26.7', missingMigrations: [], syncsInserts: true };
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
    expect(judgeClickHouse({ ...clickhouse, syncsInserts: false }).status).toBe('WARN');
  });
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
