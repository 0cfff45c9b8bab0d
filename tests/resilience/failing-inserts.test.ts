import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { allPaths, chrome, eventually, request } from '../api-client.ts';
import { statsOf } from '../collector.ts';
import { untilLogIsEmpty } from './checker.ts';
import { type System, startSystem } from './system.ts';
import { exactlyOnce, underLoad } from './under-load.ts';

let system: System;
beforeAll(async () => {
  system = await startSystem({ counts: { worker: 2 }, env: { STALL_MAX_MS: '1000' } });
}, 120_000);
afterEach(() => system.proxies.clickhouse.goUp());
afterAll(() => system.stop());

const failure = 'Code: 999. DB::Exception: Something is wrong. (KEEPER_EXCEPTION)';
/** In the head of every insert of events. */
const insert = 'INSERT+INTO+events';

/** A thousand numbered events of three years, as one request: they are one batch, which is stored in three blocks. */
async function sendThreeYears(websiteId: string): Promise<void> {
  const years = [2022, 2023, 2024].map((year) => Date.UTC(year, 5, 10));
  const body = Array.from({ length: 1_000 }, (_, n) => ({
    type: 'event',
    payload: { website: websiteId, url: `/n/${n}`, id: `visitor ${n % 10}`, timestamp: years[n % 3], data: { n } },
  }));
  const url = `http://127.0.0.1:${system.members.ingest[0]?.port}/api/batch`;
  expect((await request('POST', url, { headers: { 'user-agent': chrome }, body })).status).toBe(200);
}

test.each(['2022', '2023', '2024'])(
  'of the three blocks of a batch that of %s fails twice: every event is stored once',
  async (year) => {
    const websiteId = await system.newWebsite();
    const { clickhouse } = system.proxies;
    // The token of a block ends in its year.
    clickhouse.answerSome(`-${year}&`, 2, 500, failure);
    await sendThreeYears(websiteId);
    await untilLogIsEmpty(system);
    expect(clickhouse.someLeft()).toBe(0);
    const numbers = (await allPaths(system.api, websiteId)).map((path) => Number(path.replace('/n/', '')));
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
    expect(await statsOf(system.api, websiteId)).toMatchObject({ pageviews: 1_000 });
    const counted = await system.clickhouse(
      `SELECT sum(pageviews) FROM {db}.site_15m WHERE website_id = '${websiteId}'`,
    );
    expect(counted).toEqual(['1000']);
  },
);

test('while inserts and nothing else fail, workers are not ready and events are accepted; afterwards all are stored once', async () => {
  const readiness = () =>
    Promise.all(
      system.members.worker.map(async ({ port }) => (await request('GET', `http://127.0.0.1:${port}/readyz`)).body),
    );
  const ready = { ok: true, notReady: [] };
  await eventually(readiness, (answers) => answers.every((answer) => JSON.stringify(answer) === JSON.stringify(ready)));
  const { load, report } = await underLoad(system, async () => {
    system.proxies.clickhouse.answerSome(insert, Number.POSITIVE_INFINITY, 500, failure);
    await expect.poll(readiness).toEqual([1, 2].map(() => ({ ok: false, notReady: ['storing'] })));
    system.proxies.clickhouse.goUp();
    await expect.poll(readiness).toEqual([ready, ready]);
  });
  expect([...load.statuses.keys()]).toEqual([200]);
  expect(report).toMatchObject({ ...exactlyOnce, stored: load.accepted.size });
});
