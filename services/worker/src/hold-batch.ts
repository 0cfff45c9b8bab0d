import type { LogBatch } from '@meridian/queue/log-batch';
import type { LogConsumer } from '@meridian/queue/log-consumer';

/** The batch went to another worker, because this one seemed dead. */
export class BatchLostError extends Error {
  override readonly name = 'BatchLostError';
}

/**
 * Keeps a batch from counting as abandoned for as long as the work on it takes. `lost`: aborted when it went to another
 * worker all the same; nothing more of it may be stored then. `end`: stops keeping it.
 */
export function holdBatch(
  consumer: Pick<LogConsumer, 'hold'>,
  batch: LogBatch,
  everyMs: number,
): { lost: AbortSignal; end(): void } {
  const lost = new AbortController();
  let isAsking = false; // while Redis is away the calls would pile up, to be made all at once when it is back
  const hold = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    try {
      if (!(await consumer.hold(batch))) lost.abort(new BatchLostError('The batch belongs to another worker now'));
    } catch {
      // Redis is in trouble; the next time tells
    } finally {
      isAsking = false;
    }
  };
  const timer = setInterval(() => void hold(), everyMs);
  return { lost: lost.signal, end: () => clearInterval(timer) };
}
