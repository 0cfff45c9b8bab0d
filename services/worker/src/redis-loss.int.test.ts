import { createTestProxy } from '@meridian/embedded/test-proxy';
import { type OwnRedis, startOwnRedis } from '@meridian/queue/test-redis';
import { connectRedis } from '@meridian/runtime/redis';
import { findWrongRows } from '@meridian/warehouse/rollups/test-rollups';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import { WarehouseError } from '@meridian/warehouse/warehouse-error';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createWorkerFixture, silent, type WorkerFixture } from './worker-fixture.ts';

let server: OwnRedis;
let fixture: WorkerFixture;
beforeEach(async () => {
  server = await startOwnRedis();
  fixture = await createWorkerFixture({ redisUrl: server.url });
});
afterEach(async () => {
  await fixture.close();
  await server.remove();
});

const until = { timeout: 60_000 };
const untilConsumed = () => expect.poll(() => fixture.entriesLeft(), until).toBe(0);
const events = async (count: number) => {
  const websiteId = await fixture.newWebsite();
  return Array.from({ length: count }, () => ({ websiteId }));
};

test('Redis is killed and comes back under a running worker: every accepted event is stored once', async () => {
  const some = await events(20);
  void fixture.newWorker().run();
  const accepted: string[] = [];
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 5; i++) accepted.push(...(await fixture.append(...some)));
    await server.kill();
    await server.start();
    await expect.poll(() => fixture.redis.status, until).toBe('ready');
  }
  await untilConsumed();
  expect(await fixture.storedIds()).toEqual(accepted.sort());
}, 120_000);

/** As a node that fails without a word, or a balancer that forgets, leaves connections. */
async function wayToRedis() {
  const proxy = await createTestProxy({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
  onTestFinished(proxy.close);
  return { proxy, url: `redis://127.0.0.1:${proxy.port}` };
}

test('all connections of a worker go silent: by new ones it stores what comes after that, once', async () => {
  const some = await events(20);
  const { proxy, url } = await wayToRedis();
  const worker = fixture.newWorker({}, url);
  void worker.run();
  const first = await fixture.append(...some);
  await untilConsumed();
  proxy.silence();
  const second = await fixture.append(...some);
  await untilConsumed();
  expect(await fixture.storedIds()).toEqual([...first, ...second].sort());
  await worker.stop();
}, 120_000);

test('a worker that has lost Redis stores no further part of a batch that another one has taken over', async () => {
  const some = await events(160);
  const { proxy, url } = await wayToRedis();
  let whole = 0;
  let parts = 0;
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const insertEvents: Warehouse['insertEvents'] = async (rows, token) => {
    const bytes = Buffer.concat(rows).length;
    whole ||= bytes;
    if (bytes === whole) throw new WarehouseError('limit', 'Memory limit exceeded');
    await fixture.warehouse.insertEvents(rows, token);
    if (++parts > 1) return;
    proxy.goDown();
    await held;
  };
  const worker = fixture.newWorker({ warehouse: { ...fixture.warehouse, insertEvents } }, url);
  const running = worker.run();
  const ids = await fixture.append(...some);
  await expect.poll(() => parts, until).toBe(1);
  void fixture.newWorker().run();
  await untilConsumed();
  goOn();
  proxy.goUp();
  await worker.stop();
  await running;
  expect(parts).toBe(1);
  expect(await fixture.storedIds()).toEqual(ids);
  expect(await findWrongRows(fixture.urls.clickhouse)).toEqual([]);
}, 120_000);

test('a connection that fails fast goes silent: a later command is answered', async () => {
  const { proxy, url } = await wayToRedis();
  const redis = connectRedis(url, { role: 'producer', logger: silent });
  onTestFinished(() => redis.disconnect());
  await redis.connect();
  expect(await redis.ping()).toBe('PONG');
  proxy.silence();
  await expect(redis.ping()).rejects.toThrow('Command timed out');
  await expect.poll(() => redis.ping().catch(String), until).toBe('PONG');
}, 120_000);

test('Redis forgets that a batch was stored, because the end of its file is lost: nothing is stored twice', async () => {
  const some = await events(100);
  const worker = fixture.newWorker();
  void worker.run();
  const first = await fixture.append(...some);
  await untilConsumed();
  await worker.stop();

  // The appends are much longer than what the worker wrote after them.
  let isBack = false;
  while (!isBack) {
    await server.kill();
    await server.loseTail(100);
    await server.start();
    await expect.poll(() => fixture.redis.status, until).toBe('ready');
    isBack = (await fixture.entriesLeft()) > 0;
  }
  void fixture.newWorker().run();
  const second = await fixture.append(...some);
  await untilConsumed();
  expect(await fixture.storedIds()).toEqual([...first, ...second].sort());
}, 120_000);
