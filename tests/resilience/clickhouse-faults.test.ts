import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { always, eventually, request } from '../api-client.ts';
import { type System, startSystem } from './system.ts';
import { exactlyOnce, underLoad, untilAccepted } from './under-load.ts';

let system: System;
beforeAll(async () => {
  system = await startSystem({ counts: { worker: 2 } });
}, 120_000);
afterEach(() => system.proxies.clickhouse.goUp());
afterAll(() => system.stop());

/** A load during which ClickHouse is in trouble: every event is accepted all the same, and stored once in the end. */
async function expectNothingLost(trouble: Parameters<typeof underLoad>[1]): Promise<void> {
  const { load, report } = await underLoad(system, trouble);
  expect([...load.statuses.keys()]).toEqual([200]);
  expect(report).toMatchObject({ ...exactlyOnce, stored: load.accepted.size });
}

/** The question that must not be answered with zeros. */
const askStats = async (websiteId: string) => {
  const { origin, headers } = system.caller;
  const query = new URLSearchParams(
    Object.entries(always()).map(([name, value]): [string, string] => [name, `${value}`]),
  );
  return request('GET', `${origin}/api/websites/${websiteId}/stats?${query}`, { headers });
};

test(
  'while ClickHouse is down events are accepted and statistics are 503, never zeros; when it is back everything is stored once',
  () =>
    expectNothingLost(async (load, websiteId) => {
      system.proxies.clickhouse.goDown();
      await untilAccepted(load, 1_500);
      const answer = await askStats(websiteId);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([503, 'application/json']);
      system.proxies.clickhouse.goUp();
    }),
  120_000,
);

test(
  'inserts that take longer than a batch is kept without a sign of life are not stored by a second worker, too',
  () =>
    expectNothingLost(async (load) => {
      system.proxies.clickhouse.slowDown(5_000);
      await untilAccepted(load, 2_500);
      system.proxies.clickhouse.goUp();
    }),
  120_000,
);

test(
  '50 times an insert takes effect and its answer is lost: everything is stored once',
  () =>
    expectNothingLost(async () => {
      const { clickhouse } = system.proxies;
      for (let i = 0; i < 50; i++) {
        clickhouse.loseAnswers(1);
        await eventually(async () => clickhouse.lostAll(), Boolean, 30_000);
      }
    }),
  180_000,
);

test.each([
  ['an error of its own', 'Code: 999. DB::Exception: Something is wrong. (KEEPER_EXCEPTION)'],
  ['the page of a proxy', '<html><body>Internal Server Error</body></html>'],
  ['no memory left', 'Code: 241. DB::Exception: Memory limit (total) exceeded. (MEMORY_LIMIT_EXCEEDED)'],
])(
  'ClickHouse answers every request with 500 for a while (%s): everything is stored once, nothing is a dead letter',
  (_, body) =>
    expectNothingLost(async (load, websiteId) => {
      system.proxies.clickhouse.answerAll(500, body);
      await untilAccepted(load, 1_000);
      expect((await askStats(websiteId)).status).toBe(503);
      system.proxies.clickhouse.goUp();
    }),
  120_000,
);

test.each(['events', 'site_15m'])(
  'ClickHouse refuses inserts because %s has too many parts: everything is stored once, in every table',
  (table) =>
    expectNothingLost(async (load) => {
      await system.clickhouse(
        `ALTER TABLE {db}.${table} MODIFY SETTING parts_to_delay_insert = 1, parts_to_throw_insert = 1`,
      );
      try {
        await untilAccepted(load, 1_000);
        const said = () => system.members.worker.map((member) => member.process().output()).join('');
        await eventually(async () => new RegExp(`too many parts.*\\.${table} `, 'i').test(said()), Boolean);
      } finally {
        await system.clickhouse(`ALTER TABLE {db}.${table} RESET SETTING parts_to_delay_insert, parts_to_throw_insert`);
      }
    }),
  120_000,
);

test('a ClickHouse that says nothing does not keep a caller waiting: 503', async () => {
  const websiteId = await system.newWebsite();
  system.proxies.clickhouse.hang();
  expect((await askStats(websiteId)).status).toBe(503);
}, 60_000);
