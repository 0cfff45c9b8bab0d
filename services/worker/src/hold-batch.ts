import type { LogBatch } from '@meridian/queue/log-batch';
import type { HoldTimes, LogConsumer } from '@meridian/queue/log-consumer';

/** The batch went to another worker, because this one seemed dead. */
export class BatchLostError extends Error {
  override readonly name = 'BatchLostError';
}

export type BatchHold = {
  /**
   * To be called before anything is stored: resolves while the batch is sure to be this worker's, and rejects with a
   * BatchLostError when it went to another one. Redis that does not answer is waited for once it may have given the
   * batch away: then only it can tell.
   */
  confirm(): Promise<void>;
  /** Stops holding it. */
  end(): void;
};

/**
 * Keeps a batch from counting as abandoned for as long as the work on it takes. Redis has it as this worker's at least
 * for `sureForMs` after a hold.
 */
export function holdBatch(
  consumer: Pick<LogConsumer, 'hold'>,
  batch: LogBatch,
  { everyMs, sureForMs }: HoldTimes,
): BatchHold {
  let isLost = false;
  let heldAt = Number.NEGATIVE_INFINITY; // when it was handed out is not known here
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    const askedAt = performance.now();
    if (await consumer.hold(batch)) heldAt = askedAt;
    else isLost = true;
  }
  /** One call at a time: while Redis is away they would pile up, to be made all at once when it is back. */
  function hold(): Promise<void> {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  }

  const timer = setInterval(() => hold().catch(() => {}), everyMs);
  return {
    async confirm() {
      while (!isLost && performance.now() - heldAt > sureForMs) await hold();
      if (isLost) throw new BatchLostError('The batch belongs to another worker now');
    },
    end: () => clearInterval(timer),
  };
}
