import type { LogBatch } from '@meridian/queue/log-batch';
import type { DeadLetter, LogConsumer } from '@meridian/queue/log-consumer';
import { isPassingRedisError } from '@meridian/queue/redis-script';
import { RegistryError } from '@meridian/registry/registry-error';
import type { Logger } from '@meridian/runtime/logger';
import { retry } from '@meridian/runtime/retry';
import { type RecordedSpan, recordSpan } from '@meridian/runtime/tracing';
import { eventIdOf, readEventRow, type SessionPropertyRow, websiteIdOf } from '@meridian/warehouse/event-row';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import { WarehouseError } from '@meridian/warehouse/warehouse-error';
import { type BatchHold, BatchLostError } from './hold-batch.ts';
import { piecesOf, sortRows } from './sort-rows.ts';
import { type BlockStore, ForgottenTokenError, storeBlock, tokenOfRows } from './store-block.ts';
import { toSessionProperties } from './to-session-properties.ts';
import { untilStopped } from './until-stopped.ts';
import type { WebsiteGate } from './website-gate.ts';
import type { WorkerCounts } from './worker-counts.ts';

/** Properties of sessions of one insert; more by at most those of one event. */
const portionOfProperties = 50_000;
/** How often a block is sent again before it is cut for which ClickHouse had no memory: others may hold that. */
const memoryRetriesMax = 3;
/** How long a stop waits for Redis to confirm that a batch is ours, and to end one that is stored. */
const commitGraceMs = 3_000;

export type WriteBatchDeps = {
  consumer: Pick<LogConsumer, 'commit' | 'forgetVisits' | 'writeManifest'>;
  gate: Pick<WebsiteGate, 'admit'>;
  warehouse: Pick<
    Warehouse,
    'insertEvents' | 'insertSessionProperties' | 'findStoredEventIds' | 'untilInsertsEnd' | 'remembersTokensSince'
  >;
  logger: Logger;
  counts: WorkerCounts;
  /** The worker stops: waiting ends. What is not stored by then is stored by another worker. */
  stopSignal: AbortSignal;
};

/**
 * Brings one batch of the event log into the warehouse, every event once: keeps out what must not be stored, stores the
 * rest, and ends the batch last of all. Waits as long as it takes while a store is away. Rejects when the batch could
 * not be ended, and with a BatchLostError when it went to another worker.
 */
export function createWriteBatch(deps: WriteBatchDeps): (batch: LogBatch, hold: BatchHold) => Promise<void> {
  const { consumer, gate, logger, counts, stopSignal } = deps;
  return async (batch, hold) => {
    const startedAt = performance.now();
    const confirm = () => untilStopped(hold.confirm(), { stopSignal, graceMs: commitGraceMs });
    const patiently = createPatience(deps, confirm);
    const { admitted, removed: removedRows } = await patiently(() => gate.admit(batch.rows));
    const { deadLetters, mayBeStored } = await storeEvents(deps, batch, admitted, { patiently, confirm });
    for (const { numbers, before } of removedRows)
      await patiently(() => consumer.forgetVisits(batch.rows, numbers, before));
    const removed = batch.rows.count - admitted.length;
    const isOurs = await patiently(() =>
      untilStopped(consumer.commit(batch, deadLetters, removed), { stopSignal, graceMs: commitGraceMs }),
    );
    const outcome = {
      events: batch.rows.count,
      removed,
      deadLetters: deadLetters.length + batch.unreadable.length,
      mayBeStored,
      durationMs: Math.round(performance.now() - startedAt),
    };
    countBatch(counts, batch, { isOurs, removed, letters: deadLetters.length });
    if (!isOurs) logger.warn(outcome, 'batch was stored, and is ended by another worker');
    else if (outcome.deadLetters > 0) logger.error(outcome, 'batch written, with dead letters');
    else logger.debug(outcome, 'batch written');
  };
}

/** What of the batch is counted here: of one that another worker ends, nothing else than that. */
function countBatch(
  counts: WorkerCounts,
  batch: LogBatch,
  { isOurs, removed, letters }: { isOurs: boolean; removed: number; letters: number },
): void {
  counts.batches[isOurs ? 'written' : 'lost']++;
  if (!isOurs) return;
  if (batch.lane === 'live') counts.lastEndedAt = performance.now();
  counts.stored += batch.rows.count - removed - letters;
  counts.removed += removed;
  counts.deadLettered += batch.unreadable.reduce((sum, { eventCount }) => sum + eventCount, letters);
}

/** Makes an attempt unless the batch is lost, and repeats it while a store is away and the worker does not stop. */
type Patience = <Value>(attempt: () => Promise<Value>, isWorthRetrying?: (error: unknown) => boolean) => Promise<Value>;

/** Waits until the batch is sure to be this worker's. */
type Confirm = () => Promise<void>;

function createPatience({ logger, counts, stopSignal }: WriteBatchDeps, confirm: Confirm): Patience {
  return (attempt, isWorthRetrying = isPassing) =>
    retry(
      async () => {
        await confirm();
        return attempt();
      },
      {
        signal: stopSignal,
        isWorthRetrying,
        onRetry: (err, attempts) => {
          counts.retries++;
          if (attempts % 10 === 1) logger.warn({ err, attempts }, 'batch waits for a store');
        },
      },
    );
}

function isPassing(error: unknown): boolean {
  if (error instanceof WarehouseError) return error.kind !== 'data';
  return error instanceof RegistryError || isPassingRedisError(error);
}

const isRefusal = (error: unknown): boolean => error instanceof WarehouseError && error.kind === 'data';
const isTooLarge = (error: unknown): boolean => error instanceof WarehouseError && error.kind === 'limit';

/** `isWhole`: the block must not be cut. */
function insertPatiently(patiently: Patience, isWhole: boolean, attempt: () => Promise<void>): Promise<void> {
  let memoryFailures = 0;
  return patiently(attempt, (error) => {
    if (isTooLarge(error) && !isWhole) return ++memoryFailures <= memoryRetriesMax;
    return isPassing(error);
  });
}

/** Stores the rows with these numbers. Gives what cannot be stored, and whether some were found to be stored before. */
async function storeEvents(
  deps: WriteBatchDeps,
  batch: LogBatch,
  admitted: readonly number[],
  { patiently, confirm }: { patiently: Patience; confirm: Confirm },
): Promise<{ deadLetters: DeadLetter[]; mayBeStored: boolean }> {
  const letters = new Map<number, DeadLetter>();
  const refuse: Refuse = (number, reason) => {
    letters.set(number, { event: readEventRow(batch.rows.bytes, startOf(batch, number)), reason });
  };
  const sent: SentTokens = new Map();
  const eventStore = eventStoreOf(deps, batch, { patiently, confirm, refuse, sent });
  const { byYear, identifies } = sortRows(batch.rows, admitted);
  const tokenOf = (year: number): string => `${batch.token}-${year}`;
  let { mayBeStored } = batch;
  if (mayBeStored) {
    const numbers = [...byYear.values()].flat();
    mayBeStored = (await eventStore.findMissing(numbers)).length < numbers.length;
    // If not, it is a batch like any other from now on: whoever takes it over sends it whole, which completes views.
    await noteMayBeStored(deps, batch, patiently, mayBeStored);
  } else if (batch.begunAfterMs !== null)
    for (const year of byYear.keys()) sent.set(tokenOf(year), { sinceMs: batch.begunAfterMs, isTriedHere: false });
  // Trap: a view may refuse a block that touches very many partitions when its rows are stored already. A year is few
  // enough.
  for (const [year, numbers] of byYear) await storeBlock(eventStore, numbers, tokenOf(year), mayBeStored);
  const propertyStore = propertyStoreOf(deps, patiently, refuse);
  // Where a portion begins depends on what is admitted, so that its token is made of what is in it.
  for (const properties of propertiesOf(batch, identifies, refuse))
    await storeBlock(propertyStore, properties, tokenOfRows(propertyStore, properties), false);
  return { deadLetters: [...letters.values()], mayBeStored };
}

/** Takes the number of a row that cannot be stored. */
type Refuse = (number: number, reason: string) => void;

const startOf = ({ rows }: LogBatch, number: number): number => rows.starts[number] ?? 0;

/**
 * Tells whoever takes the batch over whether events of it may be stored under other tokens; throws when somebody has.
 */
async function noteMayBeStored(
  { consumer }: WriteBatchDeps,
  batch: LogBatch,
  patiently: Patience,
  mayBeStored: boolean,
): Promise<void> {
  const isOurs = await patiently(() => consumer.writeManifest(batch, { mayBeStored }));
  if (!isOurs) throw new BatchLostError('The batch belongs to another worker now');
}

/**
 * Tokens under which blocks may be stored: since when (Unix ms), and whether this worker, too, has tried to. While a
 * block is waited for, or those before it, others make ClickHouse forget them.
 */
type SentTokens = Map<string, { sinceMs: number; isTriedHere: boolean }>;

/** Where the batch's events go, by the numbers of their rows. */
function eventStoreOf(
  deps: WriteBatchDeps,
  batch: LogBatch,
  { patiently, confirm, refuse, sent }: { patiently: Patience; confirm: Confirm; refuse: Refuse; sent: SentTokens },
): BlockStore<number> {
  const { warehouse, counts } = deps;
  const { bytes, createdAtMs } = batch.rows;
  let noted: Promise<void> | undefined;
  return {
    insert(numbers, token, isWhole) {
      return insertPatiently(patiently, isWhole, async () => {
        const before = sent.get(token);
        // Where it is unknown whether ClickHouse would notice what a try here has stored, it was away most likely, and
        // only the whole block completes the views of one at which it went away.
        const answer = before && (await warehouse.remembersTokensSince(before.sinceMs));
        if (answer === 'no' || (answer === 'unknown' && !before?.isTriedHere)) {
          sent.delete(token); // what is stored is asked for next
          throw new ForgottenTokenError();
        }
        await confirm(); // ClickHouse may have taken its time
        sent.set(token, { sinceMs: before?.sinceMs ?? Date.now(), isTriedHere: true });
        const startedAt = performance.now();
        await warehouse.insertEvents(piecesOf(batch.rows, numbers), token);
        counts.insertSeconds.observe((performance.now() - startedAt) / 1_000);
        counts.insertRows.observe(numbers.length);
        recordSpan(startedAt, () => insertSpan(numbers.length));
      });
    },
    async findMissing(numbers) {
      const keys = numbers.map((number) => ({
        websiteId: websiteIdOf(bytes, startOf(batch, number)),
        createdAtMs: createdAtMs[number] ?? 0,
        eventId: eventIdOf(bytes, startOf(batch, number)),
      }));
      await patiently(() => warehouse.untilInsertsEnd()); // one of a worker that has lost the batch may be under way
      const stored = await patiently(() => warehouse.findStoredEventIds(keys));
      return numbers.filter((_, i) => !stored.has(keys[i]?.eventId ?? ''));
    },
    isRefusal,
    isTooLarge,
    beforeParts: () => (noted ??= noteMayBeStored(deps, batch, patiently, true)),
    refuse,
    idOf: (number) => eventIdOf(bytes, startOf(batch, number)),
  };
}

/** A property of a session, and the number of the row that it is of. */
type NumberedProperty = { number: number; property: SessionPropertyRow };

function propertyStoreOf(
  { warehouse }: WriteBatchDeps,
  patiently: Patience,
  refuse: Refuse,
): BlockStore<NumberedProperty> {
  return {
    insert: (rows, token, isWhole) => {
      const properties = rows.map((row) => row.property);
      return insertPatiently(patiently, isWhole, () => warehouse.insertSessionProperties(properties, token));
    },
    findMissing: async (rows) => rows, // stored twice is stored once: the later value of a key stays
    isRefusal,
    isTooLarge,
    beforeParts: async () => {},
    refuse: (row, reason) => refuse(row.number, reason),
    idOf: ({ property }) => `${property.eventId} ${property.key}`,
  };
}

/**
 * What the rows with these numbers say of their sessions, in portions: a property of ten bytes in the log takes several
 * hundred as an object.
 */
function* propertiesOf(
  batch: LogBatch,
  identifies: readonly number[],
  refuse: Refuse,
): Generator<readonly NumberedProperty[]> {
  let portion: NumberedProperty[] = [];
  for (const number of identifies) {
    try {
      const event = readEventRow(batch.rows.bytes, startOf(batch, number));
      for (const property of toSessionProperties(event)) portion.push({ number, property });
    } catch (error) {
      refuse(number, String(error));
    }
    if (portion.length < portionOfProperties) continue;
    yield portion;
    portion = [];
  }
  yield portion;
}

function insertSpan(rows: number): RecordedSpan {
  const attributes = { 'db.system.name': 'clickhouse', 'db.operation.name': 'INSERT', 'db.operation.batch.size': rows };
  return { name: 'INSERT', kind: 'client', attributes };
}
