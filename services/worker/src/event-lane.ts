import { setTimeout as delay } from 'node:timers/promises';
import type { LogBatch } from '@meridian/queue/log-batch';
import type { LogConsumer } from '@meridian/queue/log-consumer';
import type { Logger } from '@meridian/runtime/logger';
import { BatchLostError } from './batch-lease.ts';
import { untilStopped } from './until-stopped.ts';

const pauseAfterErrorMs = 1_000;
/** A stop waits for Redis this much longer than a read of the log may take. */
const stopGraceMs = 1_500;

export type EventLaneDeps = {
  consumer: Pick<LogConsumer, 'next' | 'leave'>;
  writeBatch: (batch: LogBatch) => Promise<void>;
  limits: { eventsMax: number; maxWaitMs: number };
  logger: Logger;
};

/**
 * Writes one batch after the other until the signal is aborted; the batch in hand is finished first, unless a store is away: then
 * another worker finishes it, as it does with what Redis handed out too late. Rejects when a batch can be neither stored nor set aside: going on would skip it.
 */
export async function runEventLane(
  { consumer, writeBatch, limits, logger }: EventLaneDeps,
  stopSignal: AbortSignal,
): Promise<void> {
  const untilGivenUp = <Value>(outcome: Promise<Value>): Promise<Value> =>
    untilStopped(outcome, { stopSignal, graceMs: limits.maxWaitMs + stopGraceMs });
  while (!stopSignal.aborted) {
    const batch = await untilGivenUp(consumer.next(limits)).catch((err: unknown) => {
      logger.warn({ err }, 'event log cannot be read');
      return 'failed' as const;
    });
    if (batch === 'failed') await delay(pauseAfterErrorMs, undefined, { signal: stopSignal }).catch(() => {});
    else if (batch) await write(batch);
  }
  await untilGivenUp(consumer.leave()).catch((err: unknown) => logger.warn({ err }, 'event log was not left in order'));

  async function write(batch: LogBatch): Promise<void> {
    try {
      await writeBatch(batch);
    } catch (error) {
      if (error instanceof BatchLostError) logger.warn({ events: batch.events.length }, error.message);
      else if (!stopSignal.aborted) throw error;
    }
  }
}
