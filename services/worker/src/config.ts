import {
  clickhouseUrl,
  eventLogPartitions,
  host,
  logLevel,
  metricsPort,
  port,
  postgresUrl,
  redisUrl,
  region,
  wholeNumber,
} from '@meridian/runtime/config';
import { z } from 'zod';

/** What the worker needs to know, wherever it runs. */
export const WorkerSettings = z.object({
  REGION: region,
  EVENT_LOG_PARTITIONS: eventLogPartitions,
  /** Rows of one insert. */
  FLUSH_MAX_ROWS: wholeNumber(1, 500_000).default(50_000),
  /** How long the first event of an insert waits for more. */
  FLUSH_MAX_WAIT_MS: wholeNumber(0, 10_000).default(250),
  /** After this time without a sign of life another worker takes a batch over. */
  RECLAIM_IDLE_MS: wholeNumber(1_000, 3_600_000).default(15_000),
});
export type WorkerSettings = z.infer<typeof WorkerSettings>;

/** The environment of a worker that runs as its own process. */
export const WorkerConfig = WorkerSettings.extend({
  PORT: port.default(3003),
  HOST: host,
  METRICS_PORT: metricsPort,
  /** A worker that has stored nothing for so long, while older events wait, is not ready. */
  STALL_MAX_MS: wholeNumber(1_000).default(30_000),
  REDIS_URL: redisUrl,
  DATABASE_URL: postgresUrl,
  CLICKHOUSE_URL: clickhouseUrl,
  LOG_LEVEL: logLevel.default('info'),
});
