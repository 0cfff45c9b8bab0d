import type { CollectedEvent } from '@meridian/queue/collected-event';
import type { LogBatch } from '@meridian/queue/log-batch';
import type { DeadLetter, LogConsumer } from '@meridian/queue/log-consumer';
import { isPassingRedisError } from '@meridian/queue/redis-script';
import { RegistryError } from '@meridian/registry/registry-error';
import type { Logger } from '@meridian/runtime/logger';
import type { EventRow, SessionPropertyRow } from '@meridian/warehouse/event-row';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import { WarehouseError } from '@meridian/warehouse/warehouse-error';
import { retry } from './retry.ts';
import { type BlockStore, storeBlock } from './store-block.ts';
import { toEventRow, toSessionPropertyRows } from './to-event-row.ts';
import { untilStopped } from './until-stopped.ts';
import type { WebsiteGate } from './website-gate.ts';

/** How long a stop waits for Redis to end a batch that is stored. */
const commitGraceMs = 3_000;

export type WriteBatchDeps = {
  consumer: Pick<LogConsumer, 'commit'>;
  gate: Pick<WebsiteGate, 'admit'>;
  warehouse: Pick<Warehouse, 'insertEvents' | 'insertSessionProperties' | 'findStoredEventIds'>;
  logger: Logger;
  /** The worker stops: waiting ends. What is not stored by then is stored by another worker. */
  stopSignal: AbortSignal;
};

/**
 * Brings one batch of the event log into the warehouse, every event once: keeps out what must not be stored, stores the rest, and
 * ends the batch last of all. Waits as long as it takes while a store is away. Rejects when the batch could not be ended, and with the
 * reason of `lost` when it went to another worker.
 */
export function createWriteBatch(deps: WriteBatchDeps): (batch: LogBatch, lost: AbortSignal) => Promise<void> {
  const { consumer, gate, logger, stopSignal } = deps;
  return async (batch, lost) => {
    const startedAt = performance.now();
    const patiently = createPatience(logger, lost, stopSignal);
    const admitted = await patiently(() => gate.admit(batch.events));
    const deadLetters = await storeEvents(deps, batch, admitted, patiently);
    const isOurs = await patiently(() =>
      untilStopped(consumer.commit(batch, deadLetters), { stopSignal, graceMs: commitGraceMs }),
    );
    const outcome = {
      events: batch.events.length,
      dropped: batch.events.length - admitted.length,
      deadLetters: deadLetters.length + batch.unreadable.length,
      mayBeStored: batch.mayBeStored,
      durationMs: Math.round(performance.now() - startedAt),
    };
    if (!isOurs) logger.warn(outcome, 'batch was stored, and is ended by another worker');
    else if (outcome.deadLetters > 0) logger.error(outcome, 'batch written, with dead letters');
    else logger.debug(outcome, 'batch written');
  };
}

/** Makes an attempt unless the batch is lost, and repeats it while a store is away and the worker does not stop. */
type Patience = <Value>(attempt: () => Promise<Value>) => Promise<Value>;

function createPatience(logger: Logger, lost: AbortSignal, stopSignal: AbortSignal): Patience {
  const signal = AbortSignal.any([lost, stopSignal]);
  return (attempt) =>
    retry(
      async () => {
        lost.throwIfAborted();
        return attempt();
      },
      {
        signal,
        isWorthRetrying: isPassing,
        onRetry: (err, attempts) => {
          if (attempts % 10 === 1) logger.warn({ err, attempts }, 'batch waits for a store');
        },
      },
    );
}

function isPassing(error: unknown): boolean {
  if (error instanceof WarehouseError) return error.kind !== 'data';
  return error instanceof RegistryError || isPassingRedisError(error);
}

async function storeEvents(
  { warehouse }: WriteBatchDeps,
  batch: LogBatch,
  events: readonly CollectedEvent[],
  patiently: Patience,
): Promise<DeadLetter[]> {
  const letters = new Map<string, DeadLetter>();
  const eventsById = new Map<string, CollectedEvent>();
  const refuse = ({ eventId }: { eventId: string }, reason: string): void => {
    if (eventsById.size === 0) for (const event of events) eventsById.set(event.eventId, event);
    const event = eventsById.get(eventId);
    if (event) letters.set(eventId, { event, reason });
  };
  const isRefusal = (error: unknown): boolean => error instanceof WarehouseError && error.kind === 'data';
  const eventStore: BlockStore<EventRow> = {
    insert: (rows, token) => patiently(() => warehouse.insertEvents(rows, token)),
    async findMissing(rows) {
      const stored = await patiently(() => warehouse.findStoredEventIds(rows));
      return rows.filter((row) => !stored.has(row.eventId));
    },
    isRefusal,
    refuse,
    idOf: (row) => row.eventId,
  };
  const propertyStore: BlockStore<SessionPropertyRow> = {
    insert: (rows, token) => patiently(() => warehouse.insertSessionProperties(rows, token)),
    findMissing: async (rows) => rows, // stored twice is stored once: the later value of a key stays
    isRefusal,
    refuse,
    idOf: (row) => `${row.eventId} ${row.key}`,
  };

  // Trap: a view may refuse a block that touches very many partitions when its rows are stored already. A year is few enough.
  for (const [year, rows] of byYear(events))
    await storeBlock(eventStore, rows, `${batch.token}-${year}`, batch.mayBeStored);
  await storeBlock(propertyStore, toProperties(events, refuse), `${batch.token}-properties`, batch.mayBeStored);
  return [...letters.values()];
}

/** Rows by the UTC year of their event time, in the order given. */
function byYear(events: readonly CollectedEvent[]): Map<number, EventRow[]> {
  const years = new Map<number, EventRow[]>();
  for (const event of events) {
    const row = toEventRow(event);
    if (!row) continue;
    const year = new Date(row.createdAtMs).getUTCFullYear();
    const rows = years.get(year);
    if (rows) rows.push(row);
    else years.set(year, [row]);
  }
  return years;
}

function toProperties(
  events: readonly CollectedEvent[],
  refuse: (event: CollectedEvent, reason: string) => void,
): SessionPropertyRow[] {
  return events.flatMap((event) => {
    try {
      return toSessionPropertyRows(event);
    } catch (error) {
      refuse(event, String(error));
      return [];
    }
  });
}
