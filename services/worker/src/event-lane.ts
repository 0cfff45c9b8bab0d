import { setTimeout as delay } from 'node:timers/promises';
import type { LogBatch } from '@meridian/queue/log-batch';
import type { HoldTimes, LogConsumer } from '@meridian/queue/log-consumer';
import type { Logger } from '@meridian/runtime/logger';
import { type BatchHold, BatchLostError, holdBatch } from './hold-batch.ts';
import { untilStopped } from './until-stopped.ts';

const pauseAfterErrorMs = 1_000;
/** A stop waits for Redis this much longer than a read of the log may take. */
const stopGraceMs = 1_500;

export type EventLaneDeps = {
  consumer: Pick<LogConsumer, 'next' | 'hold' | 'leave'>;
  writeBatch: (batch: LogBatch, hold: BatchHold) => Promise<void>;
  limits: { eventsMax: number; maxWaitMs: number };
  /** Of a batch from when it was read until it is written. */
  holdTimes: HoldTimes;
  logger: Logger;
};

/**
 * Writes one batch after the other until the signal is aborted; what was read is finished first, unless a store is
 * away: then another worker finishes it, as it does with what Redis handed out too late. Behind a full batch more is
 * waiting: the next one is read while it is stored. Rejects when a batch can be neither stored nor set aside: going on
 * would skip it.
 */
export async function runEventLane(
  { consumer, writeBatch, limits, holdTimes, logger }: EventLaneDeps,
  stopSignal: AbortSignal,
): Promise<void> {
  const untilGivenUp = <Value>(outcome: Promise<Value>): Promise<Value> =>
    untilStopped(outcome, { stopSignal, graceMs: limits.maxWaitMs + stopGraceMs });

  async function read(): Promise<HeldBatch | null> {
    try {
      const batch = await untilGivenUp(consumer.next(limits));
      return batch && { batch, hold: holdBatch(consumer, batch, holdTimes) };
    } catch (err) {
      logger.warn({ err }, 'event log cannot be read');
      await delay(pauseAfterErrorMs, undefined, { signal: stopSignal }).catch(() => {});
      return null;
    }
  }

  async function write({ batch, hold }: HeldBatch): Promise<void> {
    try {
      await writeBatch(batch, hold);
    } catch (error) {
      if (error instanceof BatchLostError) logger.warn({ events: batch.rows.count }, error.message);
      else if (!stopSignal.aborted) throw error;
    } finally {
      hold.end();
    }
  }

  let upcoming: Promise<HeldBatch | null> | null = null;
  try {
    while (upcoming || !stopSignal.aborted) {
      const held: HeldBatch | null = await (upcoming ?? read());
      upcoming = held && held.batch.rows.count >= limits.eventsMax && !stopSignal.aborted ? read() : null;
      if (held) await write(held);
    }
  } finally {
    void upcoming?.then((held) => held?.hold.end());
  }
  await untilGivenUp(consumer.leave()).catch((err: unknown) => logger.warn({ err }, 'event log was not left in order'));
}

type HeldBatch = { batch: LogBatch; hold: BatchHold };
