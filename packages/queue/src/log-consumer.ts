import { setTimeout as delay } from 'node:timers/promises';
import { type EventRow, sessionIdOf, websiteIdOf } from '@meridian/warehouse/event-row';
import type { Redis } from 'ioredis';
import type { EventRows } from './batch-rows.ts';
import { commitScript, holdScript, leaveScript, reclaimScript, restartScript } from './consume-scripts.ts';
import { type LogBatch, type RawEntry, toLogBatch } from './log-batch.ts';
import { entryBytesMax, entryEventCount, entryEventsMax, valueAt } from './log-entry.ts';
import {
  consumerGroup,
  deadLettersKey,
  eventCountsKey,
  eventsKeys,
  type Lane,
  manifestsKey,
  partitionOf,
  restartKey,
} from './log-keys.ts';
import { unpackedBytesMax } from './packed-rows.ts';
import { createRedisScript } from './redis-script.ts';
import { forgetVisits } from './visit-state.ts';

/** Keeps the scripts over a batch short: they walk over its entries. */
const entriesMax = 5_000;
/**
 * A batch of so many bytes takes no more entries: what a sender packs into kilobytes may unpack to gigabytes, which
 * neither the worker nor ClickHouse has the memory for. ClickHouse takes up to 25 times as much for a block whose every
 * row opens a visit. A usual batch of 50,000 rows has half of it.
 */
const batchBytesMax = 32 * entryBytesMax;
/** How long a read waits for a first entry: also how long a stop may take. */
const idleReadMs = 500;

/** An event that cannot be stored, and why. */
export type DeadLetter = { event: EventRow; reason: string };

/** How often a batch is to be held, and for how long after that it is sure to be the worker's that held it. */
export type HoldTimes = { everyMs: number; sureForMs: number };

/** `reclaimIdleMs`: after which a batch counts as abandoned. */
export const holdTimesOf = (reclaimIdleMs: number): HoldTimes => ({
  everyMs: reclaimIdleMs / 4,
  sureForMs: 0.75 * reclaimIdleMs,
});

/**
 * The worker's end of the event log. A batch goes: `next`, store it (asking first what is stored, if it says so),
 * `commit`. Stores must take a batch's token as the name of its rows: a batch may be stored again under the same token,
 * as long as they remember it; under others only after `writeManifest` with `mayBeStored`.
 */
export type LogConsumer = ReturnType<typeof createLogConsumer>;

/**
 * `lane`: whose events it reads. `redis`: waits for Redis when it is away. `waitingRedis`: another such connection,
 * used for waiting reads of this consumer only.
 * `consumer`: a name that no other process has or ever had. `reclaimIdleMs`: a batch that was not held for so long
 * counts as abandoned; its worker must hold it more often. `now`: the time of dead letters.
 */
export function createLogConsumer({
  lane = 'live',
  redis,
  waitingRedis,
  partitions,
  consumer,
  reclaimIdleMs,
  now = () => new Date(),
}: {
  lane?: Lane;
  redis: Redis;
  waitingRedis: Redis;
  partitions: number;
  consumer: string;
  reclaimIdleMs: number;
  now?: () => Date;
}) {
  /**
   * Redis that lost the end of its file hands out what another worker is just storing, and has no manifest of it: that
   * worker may be sure for so long that its batch is its own.
   */
  const restartSettlesMs = holdTimesOf(reclaimIdleMs).sureForMs;
  const streams = eventsKeys(partitions, [lane]);
  const deadLetters = streams.map((_, partition) => deadLettersKey(partition));
  const batchKeys = [manifestsKey(lane), ...streams];
  const hold = createRedisScript(redis, holdScript);
  const commitBatch = createRedisScript(redis, commitScript);
  const reclaim = createRedisScript(redis, reclaimScript);
  const leave = createRedisScript(redis, leaveScript);
  const noteRestart = createRedisScript(redis, restartScript);

  let epoch = 1;
  let preparedEpoch = 0;
  let reclaimAt = 0;
  let lastIdsAtRestart: string[] = [];
  let preparedAt = 0;
  /** With which the next read begins that asks not all of them. */
  let nextPartition = 0;
  // After a lost connection Redis may be another one, which knows less.
  const mustPrepare = (): void => {
    epoch += 1;
  };
  redis.on('ready', mustPrepare);
  waitingRedis.on('ready', mustPrepare);

  /** Makes sure that the group exists, and learns what was in the log when Redis last restarted. */
  async function prepare(): Promise<void> {
    while (preparedEpoch !== epoch) {
      const preparing = epoch;
      const server = await redis.info('server');
      if (server.includes('redis_mode:cluster')) throw new Error('The event log needs one Redis, not a Redis Cluster');
      for (const stream of streams) await createGroup(redis, stream);
      const runId = /run_id:(\w+)/.exec(server)?.[1] ?? '';
      const answer = await noteRestart([restartKey(lane), ...streams], [consumerGroup, consumer, runId]);
      const [isNew, ...ids] = answer as [number, ...Buffer[]];
      preparedAt = performance.now();
      lastIdsAtRestart = ids.map(String);
      // Its file may hold the half of a transaction, see restartScript. Where this is forbidden, or done already, it
      // stays as it is.
      if (isNew === 1) await redis.bgrewriteaof().catch(() => {});
      preparedEpoch = preparing;
    }
  }

  /**
   * The next batch, begun: it belongs to this consumer, and its manifest is written. Abandoned ones come first. Null
   * when nothing has come for a while. After an error it may be called again.
   * A batch closes with `eventsMax` events or `batchBytesMax` bytes (more by its last entry, or by what one call
   * appended while it waited), or `maxWaitMs` after its first entry was read.
   */
  async function next(limits: { eventsMax: number; maxWaitMs: number }): Promise<LogBatch | null> {
    try {
      await prepare();
      const abandoned = await takeAbandoned();
      if (abandoned) return abandoned;
      const entries = await gather(limits);
      await prepare();
      const wereThere = entries.some(wasThereAtRestart);
      if (wereThere) await restartHasSettled();
      return await begin(toLogBatch(lane, entries, wereThere));
    } catch (error) {
      mustPrepare(); // the group may be gone
      throw error;
    }
  }

  async function restartHasSettled(): Promise<void> {
    const restMs = preparedAt + restartSettlesMs - performance.now();
    if (restMs > 0) await delay(restMs);
  }

  async function takeAbandoned(): Promise<LogBatch | null> {
    if (performance.now() < reclaimAt) return null;
    const perPartition = Math.ceil(entriesMax / partitions);
    const found = await reclaim(batchKeys, [consumerGroup, consumer, reclaimIdleMs, perPartition, batchBytesMax]);
    if (!found) {
      reclaimAt = performance.now() + reclaimIdleMs / 2;
      return null;
    }
    const [token, entries, mayBeStored] = found as [Buffer, RawEntry[][], number];
    if (token.length > 0) {
      const batch = toLogBatch(lane, entries, mayBeStored === 1, token.toString());
      const isWhole = batch.entryIds.every((ids, partition) => ids.length === entries[partition]?.length);
      if (isWhole) return batch;
      // Of another format version are the others. A part of the batch must never be stored under its token, by which
      // ClickHouse would take the whole for a repetition; under another one it may be, as its manifest says first.
      const entryIds = entries.map((ofPartition) => ofPartition.map(([id]) => id.toString()));
      if (!(await writeManifest({ entryIds, token: batch.token }, { mayBeStored: true }))) return null;
    }
    await restartHasSettled();
    return begin(toLogBatch(lane, entries, true));
  }

  async function gather({ eventsMax, maxWaitMs }: { eventsMax: number; maxWaitMs: number }): Promise<RawEntry[][]> {
    // By id: a Redis that restarts meanwhile and has lost the end of its file hands out the same entries again.
    const gathered = streams.map(() => new Map<string, RawEntry>());
    let events = 0;
    let entries = 0;
    let bytes = 0;
    let until = 0;
    while (events < eventsMax && entries < entriesMax && bytes < batchBytesMax) {
      const blockMs = entries === 0 ? idleReadMs : Math.ceil(until - performance.now());
      if (blockMs <= 0) break;
      const fitting = Math.min(eventsMax / entryEventsMax, (batchBytesMax - bytes) / entryBytesMax);
      const answer = await read(Math.max(1, Math.floor(fitting)), blockMs);
      if (!answer) break;
      if (entries === 0) until = performance.now() + maxWaitMs;
      for (const [stream, list] of answer) {
        const ofPartition = gathered[streams.indexOf(stream.toString())];
        for (const entry of list) ofPartition?.set(entry[0].toString(), entry);
        entries += list.length;
        for (const [, fields] of list) {
          events += entryEventCount(fields);
          bytes += unpackedBytesMax(valueAt(fields, 'rows'));
        }
      }
    }
    return gathered.map((ofPartition) => [...ofPartition.values()]);
  }

  /**
   * So many entries at most, as many of each stream; where that is less than one, one of some streams, in turn. Only
   * when these have none it waits, for any.
   */
  async function read(count: number, blockMs: number): Promise<[Buffer, RawEntry[]][] | null> {
    for (let asked = 0; count < partitions && asked < partitions; asked += count) {
      const some = Array.from({ length: count }, (_, i) => streams[(nextPartition + i) % partitions] ?? '');
      nextPartition = (nextPartition + count) % partitions;
      const answer = await readStreams(some, 1);
      if (answer) return answer;
    }
    return readStreams(streams, Math.max(1, Math.floor(count / partitions)), blockMs);
  }

  async function readStreams(of: readonly string[], perStream: number, blockMs?: number) {
    const start = ['GROUP', consumerGroup, consumer, 'COUNT', perStream] as const;
    const end = ['STREAMS', ...of, ...of.map(() => '>')] as const;
    const answer = blockMs
      ? await waitingRedis.xreadgroupBuffer(...start, 'BLOCK', blockMs, ...end)
      : await waitingRedis.xreadgroupBuffer(...start, ...end);
    return answer as [Buffer, RawEntry[]][] | null;
  }

  function wasThereAtRestart(entries: readonly RawEntry[], partition: number): boolean {
    const [first] = entries;
    return first !== undefined && !isLaterId(first[0].toString(), lastIdsAtRestart[partition] ?? '0-0');
  }

  async function begin(batch: LogBatch): Promise<LogBatch | null> {
    return !isEmpty(batch) && (await writeManifest(batch, batch)) ? batch : null;
  }

  /**
   * Records that the batch is begun under its token and, with `mayBeStored`, that events of it may also be stored under
   * other tokens: then whoever takes it over asks which. False: another worker has the batch, and it must not be stored
   * any more.
   */
  async function writeManifest(
    { entryIds, token }: Pick<LogBatch, 'entryIds' | 'token'>,
    { mayBeStored }: { mayBeStored: boolean },
  ): Promise<boolean> {
    const args = [consumerGroup, consumer, JSON.stringify(entryIds), token, mayBeStored ? '1' : '0'];
    return (await hold(batchKeys, args)) === 1;
  }

  return {
    next,

    /**
     * Keeps the batch from counting as abandoned. False: it belongs to another consumer now, and must not be stored any
     * more.
     */
    hold: async ({ entryIds }: LogBatch): Promise<boolean> =>
      (await hold(batchKeys, [consumerGroup, consumer, JSON.stringify(entryIds), '', '0'])) === 1,

    writeManifest,

    /**
     * Ends a batch whose events are stored, but for the dead letters: these are written, the entries deleted, all or
     * nothing. False: the batch belongs to another consumer now, which ends it. Rejects when the dead letters cannot be
     * written.
     * @param removedCount events that were not stored because their website is gone or was reset
     */
    async commit(batch: LogBatch, letters: readonly DeadLetter[], removedCount = 0): Promise<boolean> {
      const time = now().toISOString();
      const args = [
        ...batch.unreadable.flatMap((l) => [l.partition, time, l.reason, 'entry', l.entry]),
        ...letters.flatMap(({ event, reason }) => {
          const partition = partitionOf(event.websiteId, partitions);
          return [partition, time, reason, 'event', JSON.stringify(event)];
        }),
      ];
      const unreadableCount = batch.unreadable.reduce((sum, { eventCount }) => sum + eventCount, 0);
      const counts = [batch.rows.count - letters.length - removedCount, letters.length + unreadableCount, removedCount];
      const keys = [...batchKeys, ...deadLetters, eventCountsKey];
      const head = [consumerGroup, consumer, JSON.stringify(batch.entryIds), batch.token];
      return (await commitBatch(keys, [...head, ...counts, ...args])) === 1;
    },

    /**
     * Before a commit: forgets the visits of events that are not stored because their website is gone or, with
     * `before`, was reset then: of these only the visits to which no event has come since.
     */
    forgetVisits({ bytes, starts }: EventRows, numbers: readonly number[], before?: Date): Promise<void> {
      const sessions = numbers.map((number) => {
        const start = starts[number] ?? 0;
        return { websiteId: websiteIdOf(bytes, start), sessionId: sessionIdOf(bytes, start) };
      });
      return forgetVisits(redis, partitions, sessions, before);
    },

    /** After the last batch: leaves no idle consumer behind. */
    leave: async (): Promise<void> => void (await leave(batchKeys, [consumerGroup, consumer])),
  };
}

async function createGroup(redis: Redis, stream: string): Promise<void> {
  try {
    await redis.xgroup('CREATE', stream, consumerGroup, '0', 'MKSTREAM');
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('BUSYGROUP'))) throw error;
  }
}

const isEmpty = (batch: LogBatch): boolean => batch.entryIds.every((ids) => ids.length === 0);

/** Ids are <milliseconds>-<number>. */
function isLaterId(id: string, other: string): boolean {
  const [ms = 0, sequence = 0] = id.split('-').map(Number);
  const [otherMs = 0, otherSequence = 0] = other.split('-').map(Number);
  return ms > otherMs || (ms === otherMs && sequence > otherSequence);
}
