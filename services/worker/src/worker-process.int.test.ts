import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { on, once } from 'node:events';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { consumerGroup, eventsKeys, lanes, manifestsKey } from '@meridian/queue/log-keys';
import { startOwnRedis } from '@meridian/queue/test-redis';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createWorkerFixture, partitions, type WorkerFixture } from './worker-fixture.ts';

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const until = { timeout: 60_000, interval: 100 };

let fixture: WorkerFixture;
let processes: Set<ChildProcess>;

// The bundle, as it is shipped: it starts at once, so that a kill hits a worker at work.
beforeAll(() => void execFileSync('node', ['../../scripts/bundle.mjs'], { cwd: folder }));
beforeEach(async () => {
  fixture = await createWorkerFixture();
  processes = new Set();
});
afterEach(async () => {
  await Promise.all([...processes].map((worker) => end(worker, 'SIGKILL')));
  await fixture.close();
}, 60_000);

function startWorker({ urls } = fixture): ChildProcess {
  const env = {
    PATH: process.env.PATH,
    PORT: '0',
    REDIS_URL: urls.redis,
    DATABASE_URL: urls.postgres,
    CLICKHOUSE_URL: urls.clickhouse,
    EVENT_LOG_PARTITIONS: String(partitions),
    FLUSH_MAX_ROWS: '20', // full batches, so that the next one is read ahead
    FLUSH_MAX_WAIT_MS: '50',
    RECLAIM_IDLE_MS: '1000',
  };
  const worker = spawn('node', ['dist/bin/main.js'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  worker.stdout.resume();
  processes.add(worker);
  return worker;
}

async function untilWorking(worker: ChildProcess): Promise<void> {
  for await (const [chunk] of on(worker.stdout as Readable, 'data')) if (String(chunk).includes('"working"')) return;
}

async function end(worker: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  processes.delete(worker);
  if (worker.exitCode !== null || worker.signalCode !== null) return worker.exitCode;
  const exited = once(worker, 'exit');
  worker.kill(signal);
  const [code] = await exited;
  return code;
}

/**
 * Appends events of some websites, a few hundred each second, half of them years old, until `stop`, which gives the ids
 * of all that were accepted.
 */
function startLoad(websiteIds: string[]): { stop(): Promise<string[]> } {
  const accepted: string[] = [];
  let isOver = false;
  const work = (async () => {
    while (!isOver) {
      const events = Array.from({ length: 20 }, (_, i) => ({
        websiteId: websiteIds[i % websiteIds.length] ?? '',
        ...(i < 10 && { createdAtMs: Date.UTC(2018, 4, 3) }),
      }));
      accepted.push(...(await fixture.append(...events)));
      await delay(50);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await work;
      return accepted.sort();
    },
  };
}

async function expectExactlyOnce(accepted: string[]): Promise<void> {
  await expect.poll(() => fixture.entriesLeft(), until).toBe(0);
  const stored = await fixture.storedIds();
  expect(stored.length).toBe(accepted.length);
  expect(stored).toEqual(accepted);
  expect(await fixture.ask('SELECT sum(pageviews) FROM {db}.site_15m')).toEqual([String(accepted.length)]);
  for (const lane of lanes) expect(await fixture.redis.hlen(manifestsKey(lane))).toBe(0);
  expect(await fixture.deadLetters()).toEqual([]);
}

const randomMoment = () => delay(randomInt(100, 1_200));
const newWebsites = () => Promise.all([1, 2, 3, 4].map(() => fixture.newWebsite()));

test('two workers that are killed twelve times at random moments, while ClickHouse goes away and comes back, store every event once', async () => {
  const load = startLoad(await newWebsites());
  const workers = [startWorker(), startWorker()];
  await expect.poll(() => fixture.storedIds().then((ids) => ids.length), until).toBeGreaterThan(0);
  for (let kill = 0; kill < 12; kill++) {
    await randomMoment();
    if (kill === 4) fixture.proxy.goDown();
    if (kill === 6) fixture.proxy.goUp();
    if (kill > 6) fixture.proxy.loseAnswers(1);
    const victim = workers.shift();
    if (victim) await end(victim, 'SIGKILL');
    workers.push(startWorker());
  }
  await expectExactlyOnce(await load.stop());
}, 240_000);

test('a worker that stands still for longer than its batches are kept for it doubles nothing when it goes on', async () => {
  const load = startLoad(await newWebsites());
  const workers = [startWorker(), startWorker()];
  await expect.poll(() => fixture.storedIds().then((ids) => ids.length), until).toBeGreaterThan(0);
  for (let stall = 0; stall < 6; stall++) {
    const worker = workers[stall % 2];
    await randomMoment();
    worker?.kill('SIGSTOP');
    await delay(2_000);
    worker?.kill('SIGCONT');
  }
  await expectExactlyOnce(await load.stop());
}, 240_000);

test('workers that are replaced one after the other under load finish what they hold and leave nothing behind', async () => {
  const load = startLoad(await newWebsites());
  let worker = startWorker();
  await expect.poll(() => fixture.storedIds().then((ids) => ids.length), until).toBeGreaterThan(0);
  for (let i = 0; i < 4; i++) {
    const next = startWorker();
    await untilWorking(next);
    await randomMoment();
    expect(await end(worker, 'SIGTERM')).toBe(0);
    worker = next;
  }
  await expectExactlyOnce(await load.stop());
  expect(await end(worker, 'SIGTERM')).toBe(0);
  const consumers = await Promise.all(
    eventsKeys(partitions).map((stream) => fixture.redis.xinfo('CONSUMERS', stream, consumerGroup)),
  );
  expect(consumers.flat()).toEqual([]);
}, 240_000);

// A process that does not end within 25 s gives up with code 1.
test.each(['SIGKILL', 'SIGSTOP'] as const)(
  'a worker that is told to stop after Redis got a %s ends in order',
  async (signal) => {
    const redis = await startOwnRedis();
    const ownFixture = await createWorkerFixture({ redisUrl: redis.url });
    const websiteId = await ownFixture.newWebsite();
    const worker = startWorker(ownFixture);
    const ids = await ownFixture.append({ websiteId });
    await expect.poll(() => ownFixture.storedIds(), until).toEqual(ids);
    redis.signal(signal);
    await delay(1_000);
    expect(await end(worker, 'SIGTERM')).toBe(0);
    await ownFixture.close();
    await redis.remove();
  },
  120_000,
);
