import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Answer, chrome, eventually, request } from '../api-client.ts';
import { accepted, post, statsOf } from '../collector.ts';
import { untilLogIsEmpty } from './checker.ts';
import { type System, startSystem } from './system.ts';

let system: System;
beforeAll(async () => {
  system = await startSystem({ counts: { ingest: 2, query: 2, worker: 2 } });
}, 120_000);
afterEach(() => system.proxies.clickhouse.goUp());
afterAll(() => system.stop());

const send = (collector: number, websiteId: string, cache?: string): Promise<Answer> =>
  post(
    `http://127.0.0.1:${system.members.ingest[collector]?.port}/api/send`,
    {
      'user-agent': chrome,
      'content-type': 'application/json',
      ...(cache !== undefined && { 'x-umami-cache': cache }),
    },
    { type: 'event', payload: { website: websiteId, url: '/' } },
  );

async function sendMany(websiteId: string, count: number): Promise<void> {
  const url = `http://127.0.0.1:${system.members.ingest[0]?.port}/api/batch`;
  const body = Array.from({ length: count }, (_, i) => ({
    type: i === 0 ? 'identify' : 'event',
    payload: { website: websiteId, url: `/${i}`, id: `visitor ${i % 5}`, data: { plan: 'pro' } },
  }));
  expect((await request('POST', url, { headers: { 'user-agent': chrome }, body })).status).toBe(200);
}

const ask = (process: number, path: string) =>
  request('GET', `http://127.0.0.1:${system.members.query[process]?.port}/api${path}`, {
    headers: system.caller.headers,
  });

/** Rows of the website in each table of the warehouse that has some. */
async function rowsByTable(websiteId: string): Promise<Record<string, number>> {
  const tables = await system.clickhouse(
    `SELECT DISTINCT table FROM system.columns WHERE database = '{db}' AND name = 'website_id'
     AND table IN (SELECT name FROM system.tables WHERE database = '{db}' AND engine LIKE '%MergeTree')`,
  );
  const counts = await Promise.all(
    tables.map(async (table) => {
      const [count] = await system.clickhouse(`SELECT count() FROM {db}.${table} WHERE website_id = '${websiteId}'`);
      return [table, Number(count)] as const;
    }),
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

const untilPurged = (websiteId: string) =>
  eventually(
    () => system.postgres(`SELECT 1 FROM website WHERE id = '${websiteId}' AND purged_at IS NOT NULL`),
    (rows) => rows.length === 1,
    60_000,
  );

const questions = ['stats', 'pageviews', 'events', 'active', 'metrics?type=path', 'metrics/expanded?type=path'];

test('a website that is deleted in one process is gone from every answer of another at once, and takes nothing any more', async () => {
  const [websiteId, neighbour] = [await system.newWebsite(), await system.newWebsite()];
  const tokens = [accepted(await send(0, websiteId)).cache, accepted(await send(1, websiteId)).cache];
  await sendMany(neighbour, 4);
  await untilLogIsEmpty(system);
  const paths = questions.map((question) => `/websites/${websiteId}/${question}`);
  for (const process of [0, 1, 0, 1])
    for (const path of [`/websites/${websiteId}`, '/websites', ...paths])
      expect((await ask(process, path)).status, path).toBe(200);
  const listed = async (process: number) => {
    const { data, count } = (await ask(process, '/websites?pageSize=1000')).body as {
      data: { id: string }[];
      count: number;
    };
    return { ids: data.map(({ id }) => id), count };
  };
  const before = await listed(1);

  // What is in the log now is in flight while the website goes.
  for (const worker of system.members.worker) await worker.end('SIGTERM');
  await sendMany(websiteId, 50);
  expect(await system.api.ok('DELETE', `/websites/${websiteId}`)).toEqual({ ok: true }); // process 0

  const website = await ask(1, `/websites/${websiteId}`);
  expect([website.status, website.body]).toEqual([200, null]);
  expect(await Promise.all(paths.map(async (path) => (await ask(1, path)).status))).toEqual(paths.map(() => 404));
  expect(await listed(1)).toEqual({ ids: before.ids.filter((id) => id !== websiteId), count: before.count - 1 });
  for (const collector of [0, 1])
    for (const token of [undefined, ...tokens])
      await eventually(
        async () => (await send(collector, websiteId, token)).status,
        (status) => status === 400,
      );

  await Promise.all(system.members.worker.map((worker) => worker.start()));
  await untilPurged(websiteId);
  await untilLogIsEmpty(system);
  expect(await rowsByTable(websiteId)).toEqual({});
  expect(await statsOf(system.api, neighbour)).toMatchObject({ pageviews: 3 });
}, 120_000);

test('the websites of a deleted team go the same way, with what is on its way to them, and those of other teams stay', async () => {
  const newTeam = async () => {
    const [team] = await system.api.ok<[{ id: string }]>('POST', '/teams', { name: 'Team' });
    const body = { name: 'Shop', domain: 'shop.example', teamId: team.id };
    const website = await system.api.ok<{ id: string }>('POST', '/websites', body);
    return { teamId: team.id, websiteId: website.id };
  };
  const [deleted, neighbour] = [await newTeam(), await newTeam()];
  for (const { websiteId } of [deleted, neighbour]) await sendMany(websiteId, 4);
  await untilLogIsEmpty(system);
  for (const process of [0, 1])
    for (const question of questions)
      expect((await ask(process, `/websites/${deleted.websiteId}/${question}`)).status).toBe(200);
  for (const worker of system.members.worker) await worker.end('SIGTERM');
  await sendMany(deleted.websiteId, 50);

  expect(await system.api.ok('DELETE', `/teams/${deleted.teamId}`)).toEqual({ ok: true }); // process 0
  expect((await ask(0, `/websites/${deleted.websiteId}`)).body).toBeNull();
  for (const question of questions)
    await eventually(
      async () => (await ask(1, `/websites/${deleted.websiteId}/${question}`)).status,
      (status) => status === 404,
    );
  for (const collector of [0, 1])
    await eventually(
      async () => (await send(collector, deleted.websiteId)).status,
      (status) => status === 400,
    );

  await Promise.all(system.members.worker.map((worker) => worker.start()));
  await untilPurged(deleted.websiteId);
  await untilLogIsEmpty(system);
  expect(await rowsByTable(deleted.websiteId)).toEqual({});
  expect(await statsOf(system.api, neighbour.websiteId)).toMatchObject({ pageviews: 3 });
}, 120_000);

test('a worker is killed in the middle of a removal: another one completes it, and a neighbour keeps every row', async () => {
  const [websiteId, neighbour] = [await system.newWebsite(), await system.newWebsite()];
  for (const id of [websiteId, neighbour]) await sendMany(id, 200);
  await untilLogIsEmpty(system);
  const [all, kept] = [await rowsByTable(websiteId), await rowsByTable(neighbour)];
  expect(Object.keys(all).length).toBeGreaterThan(3);
  const [doer, other] = system.members.worker;
  await other?.end('SIGTERM');

  system.proxies.clickhouse.slowDown(1_000); // so that it is seen between two tables
  await system.api.ok('DELETE', `/websites/${websiteId}`);
  await eventually(
    () => rowsByTable(websiteId),
    (rows) => Object.keys(rows).length < Object.keys(all).length,
  );
  await doer?.end('SIGKILL');
  system.proxies.clickhouse.goUp();
  const left = await rowsByTable(websiteId);
  expect(Object.keys(left).length).toBeGreaterThan(0);

  await endLease(`purge-${websiteId}`);
  await other?.start();
  await untilPurged(websiteId);
  expect(await rowsByTable(websiteId)).toEqual({});
  expect(await rowsByTable(neighbour)).toEqual(kept);
  await doer?.start();
}, 120_000);

test('a worker is killed while it makes the rollups of a reset anew: another one completes it while events come, and every rollup is right', async () => {
  const websiteId = await system.newWebsite();
  await sendMany(websiteId, 200);
  await untilLogIsEmpty(system);
  const [doer, other] = system.members.worker;
  await other?.end('SIGTERM');

  system.proxies.clickhouse.slowDown(500);
  await system.api.ok('POST', `/websites/${websiteId}/reset`);
  // The events are gone, and the first rollup with them; the others are still as they were.
  await eventually(
    () => rowsByTable(websiteId),
    (rows) => !rows.events && !rows.site_visits && (rows.site_15m ?? 0) > 0,
  );
  await doer?.end('SIGKILL');
  system.proxies.clickhouse.goUp();
  expect((await system.wrongRows(websiteId)).length).toBeGreaterThan(0);

  const [job = ''] = await system.redis.lrange('{bull}:jobs:active', 0, -1);
  expect(job).toContain(`reset-${websiteId}`);
  await endLease(job);
  await other?.start();
  for (let i = 0; i < 5; i++) await sendMany(websiteId, 20);
  await eventually(
    () => system.postgres(`SELECT 1 FROM website WHERE id = '${websiteId}' AND pending_reset_at IS NULL`),
    (rows) => rows.length === 1,
    60_000,
  );
  await untilLogIsEmpty(system);
  expect(await system.wrongRows(websiteId)).toEqual([]);
  expect(await statsOf(system.api, websiteId)).toMatchObject({ pageviews: 95 });
  await doer?.start();
}, 180_000);

/** What the killed worker held ends now, as Redis's clock would end it within a minute. */
async function endLease(job: string): Promise<void> {
  const { redis } = system;
  expect(await redis.lrange('{bull}:jobs:active', 0, -1)).toEqual([job]);
  await redis.del(`{bull}:jobs:${job}:lock`, '{bull}:jobs:stalled-check');
  await redis.sadd('{bull}:jobs:stalled', job);
}
