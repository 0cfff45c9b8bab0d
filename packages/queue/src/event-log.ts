import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { type AppendCall, createAppendCall, resultOfKnown, type UnitAnswer } from './append-call.ts';
import { appendScript, reserveScript } from './append-script.ts';
import { createByteWriters } from './byte-writer.ts';
import { backfillAgeMs, idempotencyKey, partitionOf } from './log-keys.ts';
import type { LogOverflow } from './log-level.ts';
import type { Append, AppendResult } from './placement.ts';
import { createRedisClock } from './redis-clock.ts';
import { createRedisScript } from './redis-script.ts';
import { createUuidV7Minter, type UuidV7Minter } from './uuid-v7.ts';

/**
 * Turns of the event loop that a call waits for more events at most: a few milliseconds in a collector that is busy.
 */
const gatherTurnsMax = 4;

export type EventLog = {
  /**
   * Resolves when the events are in the log. Rejects when they are not known to be: Redis is away, full or slow. What
   * was rejected is not stored later; where only the answer was late, it is stored already.
   */
  append(append: Append): Promise<AppendResult>;
  /**
   * For a request of which something goes elsewhere before it is appended: its key is kept for its body for half a
   * minute, so that no other body goes on meanwhile. Resolves as `append` does, without visits and `replayOf` where the
   * request may go on. Rejects when Redis is away or slow.
   */
  reserve(idempotency: Pick<NonNullable<Append['idempotency']>, 'key' | 'bodyHash'>): Promise<AppendResult>;
};

/**
 * The producer's end of the event log. One call is on its way at a time, and all appends that come meanwhile travel in
 * the next one: the busier the collector, the fuller its calls.
 * `redis`: a connection that fails fast, never sends a command again, and is used for short calls beside: a call of the
 * log that gets no answer in time breaks it. `now`: the collector's clock, ms since 1970. `ids`: of the events, and of
 * the visits that they open. `overflow`: while it gives a reason nothing is taken. `appendMaxWaitMs`: an append is
 * settled after this time; less than the connection's command timeout. `callIntervalMs`: a busy process's calls leave
 * this far apart, since most of what a small call costs is its own.
 */
export function createEventLog({
  redis,
  partitions,
  now = Date.now,
  ids = createUuidV7Minter({ now }),
  overflow = () => null,
  appendMaxWaitMs = 950,
  callIntervalMs = 3,
}: {
  redis: Redis;
  partitions: number;
  now?: () => number;
  ids?: UuidV7Minter;
  overflow?: LogOverflow;
  appendMaxWaitMs?: number;
  callIntervalMs?: number;
}): EventLog {
  const runScript = createRedisScript(redis, appendScript);
  const runReserve = createRedisScript(redis, reserveScript);
  const clock = createRedisClock(redis);
  const writers = createByteWriters();
  const waiting: AppendCall[] = [];
  /** The call that was sent last. */
  let sent: AppendCall | undefined;
  /** On the clock of `performance.now`. */
  let sentAt = 0;
  let isSending = false;

  async function sendWaiting(): Promise<void> {
    for (let call = waiting[0]; call; call = waiting[0]) {
      await gather(call);
      waiting.shift();
      sent = call;
      sentAt = performance.now();
      await send(call);
    }
    isSending = false;
  }

  /**
   * Waits while that is likely to bring more events: after a call of several appends until the next is due, then as
   * long as every turn of the event loop brings more. A sender who is alone waits for neither.
   */
  async function gather(call: AppendCall): Promise<void> {
    const restMs = sentAt + callIntervalMs - performance.now();
    if (restMs > 0 && sent && sent.appendCount() > 1 && !call.isFull()) await delay(restMs);
    for (let turn = 0, count = 0; turn < gatherTurnsMax && !call.isFull(); turn++) {
      if (call.eventCount() === count) return;
      count = call.eventCount();
      await nextTurn();
    }
  }

  async function send(call: AppendCall): Promise<void> {
    try {
      const deadline = await clock.at(call.openedAt + appendMaxWaitMs);
      if (call.isSettled()) return;
      const { keys, args } = call.command();
      const [done, seconds, microseconds, answers] = toReply(await runScript(keys, [deadline, now(), ...args]));
      clock.observe(seconds, microseconds);
      if (!done) throw new Error('Redis came to the call after its deadline');
      call.settle(answers);
    } catch (error) {
      call.fail(new Error('The event log did not take the events', { cause: error }));
    }
  }

  /**
   * Redis refuses from now on what it has not done yet. A connection that gives no answer may be dead: the next one
   * will show.
   */
  function giveUp(call: AppendCall): void {
    if (call.isSettled()) return;
    call.fail(new Error('The event log did not answer in time'));
    if (call === sent) redis.stream.destroy();
  }

  function openCall(): AppendCall {
    const last = waiting.at(-1);
    if (last && !last.isFull() && !last.isSettled()) return last;
    const call = createAppendCall({ partitions, writers, ids, backfillBeforeMs: now() - backfillAgeMs });
    waiting.push(call);
    // A busy process may see the timer before the answer that has already arrived: look for that first.
    setTimeout(() => setImmediate(() => giveUp(call)), appendMaxWaitMs).unref();
    return call;
  }

  /** Why nothing is taken at the moment. */
  function refusal(): Error | null {
    if (redis.status !== 'ready') return new Error(`The event log is not reachable: ${redis.status}`);
    const reason = overflow();
    return reason ? new Error(`The event log is above its high-water mark: ${reason}`) : null;
  }

  return {
    async reserve({ key, bodyHash }) {
      const refused = refusal();
      if (refused) throw refused;
      const known = await runReserve([idempotencyKey(partitionOf(key, partitions), key)], [bodyHash]);
      const result = known ? resultOfKnown(known as UnitAnswer) : null;
      return result ?? { ok: true, visitIds: new Uint8Array(), lastAtMs: new Float64Array() };
    },
    append(append) {
      const refused = refusal();
      if (refused) return Promise.reject(refused);
      return new Promise((resolve, reject) => {
        openCall().add(append, { resolve, reject });
        if (isSending) return;
        isSending = true;
        sendWaiting();
      });
    },
  };
}

/** The script's answer: whether it was done in time, Redis's clock, the answer to each unit. */
function toReply(reply: unknown): [done: boolean, seconds: number, microseconds: number, answers: UnitAnswer[]] {
  const [done, seconds, microseconds, answers = []] = reply as [number, Buffer, Buffer, UnitAnswer[]?];
  return [done === 1, Number(seconds), Number(microseconds), answers];
}
