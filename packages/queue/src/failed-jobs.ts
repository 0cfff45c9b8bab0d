import type { Job } from 'bullmq';
import { closeSoon, openJobQueue, retryAnew, withinMs } from './job-queue.ts';

const answerMaxMs = 10_000;
const pageSize = 100;

/** A background job that is given up: its attempts are used up, or it can never succeed. */
export type FailedJob = {
  id: string;
  name: string;
  /** ISO 8601 */
  failedAt: string;
  reason: string;
  attempts: number;
  data: unknown;
};

/** The operator's hand on failed jobs. Rejects when Redis does not answer. */
export type FailedJobs = ReturnType<typeof createFailedJobs>;

export function createFailedJobs(redisUrl: string) {
  const queue = openJobQueue(redisUrl);
  const ask = <Value>(question: Promise<Value>): Promise<Value> => withinMs(answerMaxMs, question);

  async function findFailed(id: string): Promise<Job | null> {
    const job = (await ask(queue.getJob(id))) as Job | undefined;
    return job && (await ask(job.isFailed())) ? job : null;
  }

  return {
    count: (): Promise<number> => ask(queue.getFailedCount()),

    /** The latest ones first. */
    async list(limit: number): Promise<FailedJob[]> {
      const jobs: Job[] = await ask(queue.getFailed(0, limit - 1));
      return jobs.map(toFailedJob);
    },

    /** Ids of all that are there now. */
    async ids(): Promise<string[]> {
      const ids: string[] = [];
      for (let from = 0; ; from += pageSize) {
        const page: Job[] = await ask(queue.getFailed(from, from + pageSize - 1));
        ids.push(...page.map((job) => job.id ?? ''));
        if (page.length < pageSize) return ids;
      }
    },

    /** Orders the job anew, with all its attempts. False: no job of this id has failed. */
    async retry(id: string): Promise<boolean> {
      const job = await findFailed(id);
      if (job) await ask(retryAnew(job));
      return job !== null;
    },

    /** Forgets the job. False: no job of this id has failed. */
    async drop(id: string): Promise<boolean> {
      const job = await findFailed(id);
      if (job) await ask(job.remove());
      return job !== null;
    },

    close: (): Promise<void> => closeSoon(queue),
  };
}

function toFailedJob({ id = '', name, finishedOn = 0, failedReason, attemptsMade, data }: Job): FailedJob {
  return {
    id,
    name,
    failedAt: new Date(finishedOn).toISOString(),
    reason: failedReason ?? '',
    attempts: attemptsMade,
    data,
  };
}
