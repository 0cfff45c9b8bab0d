import { PeerSettings } from '@meridian/peers/peer-settings';
import {
  appSecret,
  databaseReplicaUrl,
  eventLogPartitions,
  host,
  logLevel,
  logSampleRate,
  metricsPort,
  port,
  postgresUrl,
  previousAppSecrets,
  redisUrl,
  region,
  stopDelayMs,
  wholeNumber,
} from '@meridian/runtime/config';
import { addressList, ProxySettings } from '@meridian/runtime/http/proxy-settings';
import { z } from 'zod';
import { botFilters } from './client/crawlers.ts';

/** What collection needs to know, wherever it runs. */
export const CollectSettings = z.object({
  APP_SECRET: appSecret,
  APP_SECRET_PREVIOUS: previousAppSecrets,
  REGION: region,
  ...PeerSettings.shape,
  ...ProxySettings.shape,
  BOT_FILTER: z.enum(botFilters).default('crawlers'),
  /** Visitors whose events are ignored. */
  IGNORE_IP: addressList,
  /** Whether senders may say what the visitor's address, User-Agent, browser, system and device are. */
  COLLECT_OVERRIDES: z.enum(['on', 'off']).default('on'),
  /** A file in MaxMind's format; a country file comes along. */
  GEOIP_DB: z.string().optional(),
  /** Keeps events for another region that cannot be reached, and delivers them later; off: they are refused. */
  FORWARD_SPOOL: z.enum(['on', 'off']).default('off'),
  /** Of Redis's memory, for each region; what does not fit is refused. */
  FORWARD_SPOOL_MAX_BYTES: wholeNumber(1).default(268_435_456),
  EVENT_LOG_PARTITIONS: eventLogPartitions,
  /** A line costs a good part of what an event costs, so none by default. */
  LOG_SAMPLE_RATE: logSampleRate.default(0),
  /**
   * While the log itself takes more of Redis's memory no events are taken. Neither are they above three quarters of its
   * `maxmemory`.
   */
  EVENT_LOG_MAX_BYTES: wholeNumber(1).optional(),
  /** No events are taken while the oldest one has waited for longer. */
  EVENT_LOG_MAX_AGE_S: wholeNumber(1).default(86_400),
});
export type CollectSettings = z.infer<typeof CollectSettings>;

/** The environment of a collector that runs as its own process. */
export const IngestConfig = CollectSettings.extend({
  PORT: port.default(3001),
  HOST: host,
  METRICS_PORT: metricsPort,
  REDIS_URL: redisUrl,
  DATABASE_URL: postgresUrl,
  DATABASE_REPLICA_URL: databaseReplicaUrl,
  LOG_LEVEL: logLevel.default('info'),
  STOP_DELAY_MS: stopDelayMs,
});
