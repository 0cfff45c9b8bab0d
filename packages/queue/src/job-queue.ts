import { type ConnectionOptions, type Job, Queue, type Worker } from 'bullmq';

/** Where the jobs lie in Redis. */
export const jobQueueName = 'jobs';
export const jobQueuePrefix = '{bull}';

const closeMaxMs = 3_000;

/**
 * A connection on which an answer is due and nothing comes for so long is given up for a new one. Longer than the 10 s
 * for which BullMQ lets Redis wait for a job.
 */
export const silenceMaxMs = 15_000;

/** The queue, to order and to look; errors of its connection are told by every call. */
export function openJobQueue(redisUrl: string): Queue {
  const connection = {
    url: redisUrl,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 1_000,
    socketTimeout: silenceMaxMs,
  } as ConnectionOptions;
  const queue = new Queue(jobQueueName, { connection, prefix: jobQueuePrefix });
  queue.on('error', () => {});
  return queue;
}

/** Orders a failed job again, with all its attempts: without that it would have a single one left. */
export function retryAnew(job: Job): Promise<void> {
  return job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true });
}

/** Trap: while Redis is away neither `close` nor `disconnect` ever ends. */
export async function closeSoon(part: Pick<Queue | Worker, 'close' | 'disconnect'>): Promise<void> {
  await withinMs(closeMaxMs, part.close()).catch(() => void part.disconnect().catch(() => {}));
}

export async function withinMs<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('Redis does not answer')), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
