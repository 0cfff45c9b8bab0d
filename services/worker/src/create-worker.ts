import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { createJobs, createJobWorker } from '@meridian/queue/jobs';
import { createLogConsumer, holdTimesOf } from '@meridian/queue/log-consumer';
import { type Lane, lanes } from '@meridian/queue/log-keys';
import { subscribeWebsiteChanges } from '@meridian/queue/website-changes';
import type { Registry } from '@meridian/registry/registry';
import type { Logger } from '@meridian/runtime/logger';
import { runInSpan } from '@meridian/runtime/tracing';
import type { Warehouse } from '@meridian/warehouse/warehouse';
import type { Redis } from 'ioredis';
import type { WorkerSettings } from './config.ts';
import { runEventLane } from './event-lane.ts';
import { createJobErrorLog } from './job-error-log.ts';
import { startRemovalSweep } from './removal-sweep.ts';
import { createWebsiteGate } from './website-gate.ts';
import { createWebsiteJobs } from './website-jobs.ts';
import type { WorkerCounts } from './worker-counts.ts';
import { createWriteBatch } from './write-batch.ts';

export type WorkerDeps = {
  /** `worker` connections: for commands, for the waiting reads of each lane alone, for news alone. */
  redis: Redis;
  waitingRedis: Record<Lane, Redis>;
  subscriber: Redis;
  /** The same Redis, for the connections that the job queue makes itself. */
  redisUrl: string;
  registry: Pick<
    Registry,
    | 'findWebsiteStatus'
    | 'findWebsiteStatuses'
    | 'listUnpurgedWebsites'
    | 'markWebsitePurged'
    | 'listPendingResets'
    | 'markWebsiteReset'
  >;
  warehouse: Pick<
    Warehouse,
    | 'insertEvents'
    | 'insertSessionProperties'
    | 'findStoredEventIds'
    | 'untilInsertsEnd'
    | 'remembersTokensSince'
    | 'findRecentSessions'
    | 'purgeWebsite'
    | 'purgeCollectedBefore'
    | 'repairRollups'
  >;
  config: Readonly<WorkerSettings>;
  logger: Logger;
  /** What is counted is counted here. */
  counts: WorkerCounts;
};

export type Worker = {
  /** Works until it is stopped. Rejects when it must not go on: see `runEventLane`. */
  run(): Promise<void>;
  /** Finishes what is in hand. Resolves when `run` has. */
  stop(): Promise<void>;
};

/** The worker of one region: brings the event log into the warehouse and does the background jobs. */
export function createWorker(deps: WorkerDeps): Worker {
  const { redis, waitingRedis, subscriber, redisUrl, registry, warehouse, config, logger, counts } = deps;
  const partitions = config.EVENT_LOG_PARTITIONS;
  const stopping = new AbortController();
  const gate = createWebsiteGate({ registry });
  const consumerName = `${hostname()}-${process.pid}-${randomUUID()}`;
  const limits = { eventsMax: config.FLUSH_MAX_ROWS, maxWaitMs: config.FLUSH_MAX_WAIT_MS };
  const holdTimes = holdTimesOf(config.RECLAIM_IDLE_MS);

  function runLane(lane: Lane): Promise<void> {
    const consumer = createLogConsumer({
      lane,
      redis,
      waitingRedis: waitingRedis[lane],
      partitions,
      consumer: consumerName,
      reclaimIdleMs: config.RECLAIM_IDLE_MS,
    });
    const writeBatch = createWriteBatch({ consumer, gate, warehouse, logger, counts, stopSignal: stopping.signal });
    const writeInSpan: typeof writeBatch = (batch, hold) =>
      runInSpan(
        { kind: 'consumer' },
        () => writeBatch(batch, hold),
        () => ({
          name: 'process events',
          attributes: { 'messaging.operation.name': 'process', 'messaging.batch.message_count': batch.rows.count },
        }),
      );
    // Ends when it is stopped, or when it must not go on: then the other one stops, too.
    return runEventLane({ consumer, writeBatch: writeInSpan, limits, holdTimes, logger }, stopping.signal).finally(() =>
      stopping.abort(new Error(`The ${lane} lane has ended`)),
    );
  }

  let running: Promise<void> | undefined;

  async function work(): Promise<void> {
    subscribeWebsiteChanges(subscriber, gate.forget).catch((err: unknown) =>
      logger.warn({ err }, 'no news of websites'),
    );
    const jobs = createJobs(redisUrl);
    const handlers = createWebsiteJobs({ registry, warehouse, redis, partitions, region: config.REGION });
    const jobWorker = createJobWorker(redisUrl, handlers, createJobErrorLog(logger));
    const endSweep = startRemovalSweep({ registry, jobs, region: config.REGION, logger });
    try {
      const ends = await Promise.allSettled(lanes.map(runLane));
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    } finally {
      endSweep();
      await Promise.all([jobWorker.close(), jobs.close()]);
    }
  }

  return {
    run() {
      running ??= work();
      return running;
    },
    async stop() {
      stopping.abort(new Error('The worker stops'));
      await running?.catch(() => {}); // told by run
    },
  };
}
