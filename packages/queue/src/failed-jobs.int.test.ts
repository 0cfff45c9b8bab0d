import { randomUUID } from 'node:crypto';
import { createRedisDatabase } from '@meridian/embedded/test-stores';
import { UnrecoverableError } from 'bullmq';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createFailedJobs, type FailedJobs } from './failed-jobs.ts';
import { createJobs, createJobWorker } from './jobs.ts';

let url: string;
let failed: FailedJobs;

beforeEach(async () => {
  const database = await createRedisDatabase();
  url = database.url;
  failed = createFailedJobs(url);
  onTestFinished(database.drop);
  onTestFinished(failed.close);
});

/** Orders the removal of so many websites, and fails all of them. */
async function makeFailedJobs(count: number): Promise<string[]> {
  const jobs = createJobs(url);
  const websiteIds = Array.from({ length: count }, () => randomUUID());
  for (const websiteId of websiteIds) await jobs.purgeWebsite(websiteId);
  await jobs.close();
  const worker = startWorker(async () => {
    throw new UnrecoverableError('cannot be done');
  });
  await expect.poll(failed.count).toBe(count);
  await worker.close();
  return websiteIds;
}

const startWorker = (purgeWebsite: (websiteId: string) => Promise<void>) =>
  createJobWorker(url, { purgeWebsite, resetWebsite: async () => {} }, () => {});

test('a job that is given up is kept, and listed with its reason and what it was ordered for', async () => {
  const [websiteId] = await makeFailedJobs(1);
  expect(await failed.list(10)).toEqual([
    {
      id: `purge-${websiteId}`,
      name: 'purge-website',
      failedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      reason: 'cannot be done',
      attempts: 1,
      data: { websiteId },
    },
  ]);
});

test('all are known by id, however many; the list has a limit', async () => {
  const websiteIds = await makeFailedJobs(120);
  expect((await failed.ids()).toSorted()).toEqual(websiteIds.map((id) => `purge-${id}`).toSorted());
  expect(await failed.list(7)).toHaveLength(7);
});

test('a job that is ordered again is done', async () => {
  const [websiteId = ''] = await makeFailedJobs(1);
  expect(await failed.retry(`purge-${websiteId}`)).toBe(true);
  const done: string[] = [];
  const worker = startWorker(async (id) => void done.push(id));
  await expect.poll(() => done).toEqual([websiteId]);
  await worker.close();
  expect(await failed.count()).toBe(0);
});

test('a failed job that is ordered anew, by an operator or the product, has all its attempts again', async () => {
  const [websiteId = ''] = await makeFailedJobs(1);
  const jobs = createJobs(url);
  const orders = [() => failed.retry(`purge-${websiteId}`), () => jobs.purgeWebsite(websiteId)];
  for (const order of orders) {
    await order();
    expect(await failed.count()).toBe(0);
    const worker = startWorker(async () => {
      throw new UnrecoverableError('still not');
    });
    await expect.poll(failed.count).toBe(1);
    await worker.close();
    expect(await failed.list(1)).toMatchObject([{ attempts: 1, reason: 'still not' }]);
  }
  await jobs.close();
});

test('a job that is dropped is gone; one that has not failed is neither dropped nor ordered again', async () => {
  const [websiteId] = await makeFailedJobs(1);
  expect(await failed.drop(`purge-${websiteId}`)).toBe(true);
  expect(await failed.list(10)).toEqual([]);
  expect(await failed.drop(`purge-${websiteId}`)).toBe(false);

  const jobs = createJobs(url);
  const waiting = randomUUID();
  await jobs.purgeWebsite(waiting);
  expect(await failed.drop(`purge-${waiting}`)).toBe(false);
  expect(await failed.retry(`purge-${waiting}`)).toBe(false);
  await jobs.close();
});
