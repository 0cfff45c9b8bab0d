import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, eventually, request } from '../api-client.ts';
import { type System, startSystem } from './system.ts';

const keysInAll = 100_000;
const requests = 100;
let system: System;
beforeAll(async () => {
  system = await startSystem({ counts: { ingest: 0, worker: 0 } });
}, 120_000);
afterAll(() => system.stop());

/** Key number `n` in its public form; the registry keeps its hash only. */
const keyOf = (n: number) => `mrd_${createHash('md5').update(String(n)).digest('hex')}`;

const askWith = (n: number): Promise<Answer> =>
  request('GET', `${system.caller.origin}/api/me`, { headers: { authorization: `Bearer ${keyOf(n)}` } });

/** Keys from number `from` on, of the administrator. */
const addKeys = (from: number, count: number) =>
  system.postgres(
    `INSERT INTO api_key (user_id, name, key_hash, key_prefix)
     SELECT (SELECT id FROM user_account), 'key ' || n, sha256(convert_to('mrd_' || md5(n::text), 'UTF8')), 'mrd_' || left(md5(n::text), 6)
     FROM generate_series(${from}, ${from + count - 1}) AS n`,
  );

async function inTurn<Value>(numbers: number[], act: (n: number) => Promise<Value>): Promise<Value[]> {
  const values: Value[] = [];
  for (let i = 0; i < numbers.length; i += 20) values.push(...(await Promise.all(numbers.slice(i, i + 20).map(act))));
  return values;
}

/** Scans that Postgres has made of the registry's tables so far, and the rows that they read. */
async function postgresWork(): Promise<{ scans: number; rows: number }> {
  const [work] = (await system.postgres(
    `SELECT sum(seq_scan + coalesce(idx_scan, 0))::int AS scans, sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS rows
     FROM pg_stat_user_tables`,
  )) as { scans: number; rows: number }[];
  if (!work) throw new Error('Postgres counts nothing');
  return work;
}

/** What one request with an API key of its own costs Postgres, from key number `from` on. */
async function costOfRequest(from: number): Promise<{ scans: number; rows: number }> {
  const before = await postgresWork();
  const [query] = system.members.query;
  await query?.start();
  const numbers = Array.from({ length: requests }, (_, i) => from + i);
  const answers = await inTurn(numbers, askWith);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  // A connection tells what it did at the latest when it ends.
  await query?.end('SIGTERM');
  await eventually(
    () =>
      system.postgres(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'meridian' AND datname = current_database()",
      ),
    (connections) => connections.length === 0,
  );
  const after = await postgresWork();
  return { scans: (after.scans - before.scans) / requests, rows: (after.rows - before.rows) / requests };
}

test('what counts the requests of a key is small and gone when its window ends', async () => {
  const { redis } = system;
  const numbers = Array.from({ length: requests }, (_, i) => keysInAll + i);
  await addKeys(keysInAll, requests);
  const before = await redis.dbsize();
  const answers = await inTurn(numbers, askWith);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await redis.dbsize()).toBeLessThanOrEqual(before + requests);
  const counters = await redis.keys('ratelimit:*');
  expect(counters.length).toBeGreaterThan(0);
  for (const counter of counters) {
    const [bytes, lifeMs] = await Promise.all([redis.memory('USAGE', counter), redis.pttl(counter)]);
    expect(bytes ?? 0).toBeLessThan(200);
    expect(lifeMs).not.toBe(-1); // for ever
    expect(lifeMs).toBeLessThanOrEqual(15_000);
  }
}, 120_000);

test(`with ${keysInAll} API keys a request reads as many rows as with few`, async () => {
  await system.members.query[0]?.end('SIGTERM');
  await addKeys(0, requests);
  await system.postgres('ANALYZE api_key');
  const withFew = await costOfRequest(0);
  await addKeys(requests, keysInAll - requests);
  await system.postgres('ANALYZE api_key');
  const withMany = await costOfRequest(keysInAll / 2);
  console.log(`scans and rows of a request: ${JSON.stringify({ withFew, withMany })}`);
  expect(withMany.scans).toBeLessThan(withFew.scans + 0.1);
  expect(withMany.rows).toBeLessThan(withFew.rows + 0.1);
  // The key, its user, and the note that it was used.
  expect(withMany.rows).toBeLessThan(4);
  await system.members.query[0]?.start();
}, 120_000);
