import type { LogBatch } from '@meridian/queue/log-batch';
import type { LogConsumer } from '@meridian/queue/log-consumer';

/** The batch went to another worker, because this one seemed dead. */
export class BatchLostError extends Error {
  override readonly name = 'BatchLostError';
}

/**
 * Keeps a batch from counting as abandoned for as long as the work on it takes. `lost`: aborted when it went to another worker all the
 * same; nothing more of it may be stored then. `end`: stops keeping it.
 */
export function holdBatch(
  consumer: Pick<LogConsumer, 'hold'>,
  batch: LogBatch,
  everyMs: number,
): { lost: AbortSignal; end(): void } {
  const lost = new AbortController();
  const timer = setInterval(() => {
    consumer.hold(batch).then(
      (isHeld) => {
        if (!isHeld) lost.abort(new BatchLostError('The batch belongs to another worker now'));
      },
      () => {}, // Redis is in trouble; the next time tells
    );
  }, everyMs);
  return { lost: lost.signal, end: () => clearInterval(timer) };
}
