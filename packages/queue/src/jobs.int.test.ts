import { randomUUID } from 'node:crypto';
import { createTestProxy } from '@meridian/embedded/test-proxy';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createJobs, createJobWorker, type JobHandlers } from './jobs.ts';
import { startOwnRedis } from './test-redis.ts';

const until = { timeout: 60_000 };

let database: Awaited<ReturnType<typeof createRedisDatabase>>;

beforeEach(async () => {
  database = await createRedisDatabase();
  onTestFinished(database.drop);
});

function startWorker(handlers: Partial<JobHandlers>, url = database.url): { errors: Error[] } {
  const errors: Error[] = [];
  const none = async () => {};
  const worker = createJobWorker(url, { purgeWebsite: none, resetWebsite: none, ...handlers }, (error) =>
    errors.push(error),
  );
  onTestFinished(worker.close);
  return { errors };
}

function newJobs(url = database.url): ReturnType<typeof createJobs> {
  const jobs = createJobs(url);
  onTestFinished(jobs.close);
  return jobs;
}

test('an ordered job is done, with what it was ordered for', async () => {
  const done: unknown[] = [];
  const [websiteId, before] = [randomUUID(), new Date('2026-06-10T10:00:00.123Z')];
  const jobs = newJobs();
  await jobs.purgeWebsite(websiteId);
  await jobs.resetWebsite(websiteId, before);
  startWorker({
    purgeWebsite: async (id) => void done.push(['purge', id]),
    resetWebsite: async (id, at) => void done.push(['reset', id, at]),
  });
  await expect.poll(() => done.length).toBe(2);
  expect(done).toEqual(
    expect.arrayContaining([
      ['purge', websiteId],
      ['reset', websiteId, before],
    ]),
  );
});

test('a worker and whoever orders go on by new connections when theirs have gone silent', async () => {
  const direct = new URL(database.url);
  const proxy = await createTestProxy({ host: direct.hostname, port: Number(direct.port) });
  onTestFinished(proxy.close);
  const proxied = new URL(direct);
  proxied.host = `127.0.0.1:${proxy.port}`;
  const done: string[] = [];
  startWorker({ purgeWebsite: async (id) => void done.push(id) }, proxied.href);
  const jobs = newJobs(proxied.href);
  const [first, second] = [randomUUID(), randomUUID()];
  await jobs.purgeWebsite(first);
  await expect.poll(() => done, until).toEqual([first]);
  proxy.silence();
  await expect(jobs.purgeWebsite(second)).rejects.toThrow();
  const ordered = () =>
    jobs.purgeWebsite(second).then(
      () => true,
      () => false,
    );
  await expect.poll(ordered, until).toBe(true);
  await expect.poll(() => done, until).toContain(second);
}, 120_000);

test('what is ordered twice before it is done is done once; ordered again later it is done again', async () => {
  const jobs = newJobs();
  const websiteId = randomUUID();
  await Promise.all([jobs.purgeWebsite(websiteId), jobs.purgeWebsite(websiteId)]);
  const done: string[] = [];
  startWorker({ purgeWebsite: async (id) => void done.push(id) });
  await expect.poll(() => done.length).toBe(1);
  await expect
    .poll(async () => {
      await jobs.purgeWebsite(websiteId);
      return done.length;
    })
    .toBeGreaterThanOrEqual(2); // one order may be done between two looks, and the next as well
});

test('a failed attempt is repeated', async () => {
  let attempts = 0;
  const { errors } = startWorker({
    purgeWebsite: async () => {
      attempts += 1;
      if (attempts === 1) throw new Error('not yet');
    },
  });
  await newJobs().purgeWebsite(randomUUID());
  await expect.poll(() => attempts, { timeout: 10_000 }).toBe(2);
  expect(errors.map((error) => error.message)).toEqual(['not yet']);
});

test('a worker that stops tells the running job, which another worker then does', async () => {
  let isStarted = false;
  const stopped = createJobWorker(
    database.url,
    {
      purgeWebsite: (_, signal) =>
        new Promise((_, reject) => {
          isStarted = true;
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
      resetWebsite: async () => {},
    },
    () => {},
  );
  await newJobs().purgeWebsite(randomUUID());
  await expect.poll(() => isStarted).toBe(true);
  await stopped.close();
  const done: string[] = [];
  startWorker({ purgeWebsite: async (id) => void done.push(id) });
  await expect.poll(() => done.length, { timeout: 10_000 }).toBe(1);
});

test('a worker that stops does not wait for ever for a job that does not heed the signal', async () => {
  let [isStarted, end] = [false, () => {}];
  const worker = createJobWorker(
    database.url,
    {
      purgeWebsite: () =>
        new Promise<void>((resolve) => {
          isStarted = true;
          end = resolve;
        }),
      resetWebsite: async () => {},
    },
    () => {},
  );
  await newJobs().purgeWebsite(randomUUID());
  await expect.poll(() => isStarted).toBe(true);
  await worker.close();
  end(); // nobody hears of it: no unhandled rejection either
});

test('orders and work can be closed while Redis is away', async () => {
  const server = await startOwnRedis();
  onTestFinished(server.remove);
  const done: string[] = [];
  const handlers = { purgeWebsite: async (id: string) => void done.push(id), resetWebsite: async () => {} };
  const jobs = createJobs(server.url);
  const worker = createJobWorker(server.url, handlers, () => {});
  await jobs.purgeWebsite(randomUUID());
  await expect.poll(() => done.length).toBe(1);
  await server.kill();
  await Promise.all([worker.close(), jobs.close()]);
});

test('an order is rejected, not kept waiting, while Redis is away', async () => {
  const server = await startOwnRedis();
  onTestFinished(server.remove);
  const jobs = newJobs(server.url);
  await jobs.purgeWebsite(randomUUID());
  await server.kill();
  await expect(jobs.purgeWebsite(randomUUID())).rejects.toThrow();
  await server.start();
  await expect
    .poll(
      () =>
        jobs.purgeWebsite(randomUUID()).then(
          () => 'ordered',
          () => 'rejected',
        ),
      { timeout: 10_000 },
    )
    .toBe('ordered');
});
