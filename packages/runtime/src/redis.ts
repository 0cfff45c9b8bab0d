import { Redis } from 'ioredis';
import type { Logger } from './logger.ts';

/** Longer than a producer's event loop ever stands still: the answer may lie there unread. */
const producerSilenceMaxMs = 5_000;
/** Longer than a read may wait for events (`FLUSH_MAX_WAIT_MS`). */
const workerSilenceMaxMs = 15_000;

/**
 * Connects to Redis. A connection on which an answer is due and nothing comes is given up for a new one: the other end
 * may be gone without a word.
 * - `producer`: fails fast. A command that cannot be sent at once, or is not answered in a second, is rejected, so that
 *   the client hears 503 instead of waiting in a queue that grows (nothing is kept while Redis is away). A command whose
 *   connection broke is never sent again: it may have been executed, and an append sent twice is an event stored twice.
 * - `worker`: waits. Commands are sent again until Redis is back.
 */
export function connectRedis(url: string, options: { role: 'producer' | 'worker'; logger: Logger }): Redis {
  const { role, logger } = options;
  const redis = new Redis(url, {
    lazyConnect: true,
    enableReadyCheck: true,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), 1_000),
    // A replica that was primary before answers READONLY: reconnect, which finds the new primary.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    ...(role === 'producer'
      ? {
          enableOfflineQueue: false,
          maxRetriesPerRequest: 0,
          commandTimeout: 1_000,
          connectTimeout: 2_000,
          socketTimeout: producerSilenceMaxMs,
        }
      : { maxRetriesPerRequest: null, socketTimeout: workerSilenceMaxMs }),
  });
  let reported = false;
  redis.on('error', (error) => {
    if (!reported) logger.warn({ err: error }, 'Redis is not reachable');
    reported = true;
  });
  redis.on('ready', () => {
    if (reported) logger.info('Redis is reachable again');
    reported = false;
  });
  return redis;
}
