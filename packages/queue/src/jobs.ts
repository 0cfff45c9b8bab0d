import { type ConnectionOptions, type Job, UnrecoverableError, Worker } from 'bullmq';
import { z } from 'zod';
import {
  closeSoon,
  jobQueueName,
  jobQueuePrefix,
  openJobQueue,
  retryAnew,
  silenceMaxMs,
  withinMs,
} from './job-queue.ts';

/** What the jobs carry. */
const PurgeWebsite = z.object({ websiteId: z.guid() });
const ResetWebsite = z.object({ websiteId: z.guid(), before: z.iso.datetime() });

const orderMaxWaitMs = 2_000;
const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/** A failed attempt is repeated for about a week; then the job stays as failed, to be looked at. */
const jobOptions = {
  attempts: 10_000,
  backoff: { type: 'custom' },
  removeOnComplete: true,
  removeOnFail: false,
} as const;

export type Jobs = ReturnType<typeof createJobs>;

/**
 * Orders background jobs. What is ordered twice while it is not done is done once. Rejects within seconds when Redis is
 * away.
 */
export function createJobs(redisUrl: string) {
  const queue = openJobQueue(redisUrl);

  async function order(name: string, jobId: string, data: object): Promise<void> {
    const job = await withinMs(orderMaxWaitMs, queue.add(name, data, { ...jobOptions, jobId }));
    if (await withinMs(orderMaxWaitMs, job.isFailed())) await withinMs(orderMaxWaitMs, retryAnew(job));
  }

  return {
    /** Removes everything of a deleted website. */
    purgeWebsite: (websiteId: string): Promise<void> =>
      order('purge-website', `purge-${websiteId}`, { websiteId } satisfies z.input<typeof PurgeWebsite>),

    /** Removes what was collected before the instant; the website stays. */
    resetWebsite: (websiteId: string, before: Date): Promise<void> =>
      order('reset-website', `reset-${websiteId}-${before.getTime()}`, {
        websiteId,
        before: before.toISOString(),
      } satisfies z.input<typeof ResetWebsite>),

    close: (): Promise<void> => closeSoon(queue),
  };
}

/**
 * How jobs are done. Each may be called again for the same job, after a failure or a crash. `signal`: the process wants
 * to stop.
 */
export type JobHandlers = {
  purgeWebsite(websiteId: string, signal: AbortSignal): Promise<void>;
  resetWebsite(websiteId: string, before: Date, signal: AbortSignal): Promise<void>;
};

/** Does jobs until it is closed. `onError` hears of failed attempts and of trouble with Redis; both are repeated. */
export function createJobWorker(
  redisUrl: string,
  handlers: JobHandlers,
  onError: (error: Error, job?: { id: string; name: string }) => void,
): { close(): Promise<void> } {
  const stopping = new AbortController();

  async function work({ name, data }: Job): Promise<void> {
    if (name === 'purge-website') {
      const { websiteId } = parse(PurgeWebsite, data);
      return handlers.purgeWebsite(websiteId, stopping.signal);
    }
    if (name === 'reset-website') {
      const { websiteId, before } = parse(ResetWebsite, data);
      return handlers.resetWebsite(websiteId, new Date(before), stopping.signal);
    }
    throw new Error(`Unknown job ${name}`); // of a later version: its worker will do it
  }

  const worker = new Worker(jobQueueName, work, {
    connection: { url: redisUrl, maxRetriesPerRequest: null, socketTimeout: silenceMaxMs } as ConnectionOptions,
    prefix: jobQueuePrefix,
    concurrency: 4,
    // A job whose worker was killed runs again, however often that happens.
    maxStalledCount: 10_000,
    settings: {
      backoffStrategy: (attempts) => Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(attempts - 1, 10)),
    },
  });
  worker.on('error', (error) => onError(error));
  worker.on('failed', (job, error) => onError(error, { id: job?.id ?? '', name: job?.name ?? '' }));

  return {
    /** What is running is told, and waited for a few seconds. What has not ended then another worker repeats. */
    async close() {
      stopping.abort(new Error('The worker stops'));
      await closeSoon(worker);
    },
  };
}

function parse<Schema extends z.ZodType>(schema: Schema, data: unknown): z.output<Schema> {
  const parsed = schema.safeParse(data);
  if (!parsed.success) throw new UnrecoverableError(`Not the data of this job: ${parsed.error.message}`);
  return parsed.data;
}
