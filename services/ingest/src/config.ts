import { appSecret, port } from '@meridian/runtime/config';
import { addressList, ProxySettings } from '@meridian/runtime/http/proxy-settings';
import { z } from 'zod';
import { botFilters } from './client/crawlers.ts';

/** What collection needs to know, wherever it runs. */
export const CollectSettings = z.object({
  APP_SECRET: appSecret,
  REGION: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/, 'must be lower-case letters, digits and dashes')
    .default('us'),
  ...ProxySettings.shape,
  BOT_FILTER: z.enum(botFilters).default('crawlers'),
  /** Visitors whose events are dropped. */
  IGNORE_IP: addressList,
  /** Whether senders may say what the visitor's address, User-Agent, browser, system and device are. */
  COLLECT_OVERRIDES: z.enum(['on', 'off']).default('on'),
  /** A file in MaxMind's format; a country file comes along. */
  GEOIP_DB: z.string().optional(),
  /** The same for every collector and worker of a region. */
  EVENT_LOG_PARTITIONS: z.coerce.number().int().min(1).max(256).default(1),
});
export type CollectSettings = z.infer<typeof CollectSettings>;

/** The environment of a collector that runs as its own process. */
export const IngestConfig = CollectSettings.extend({
  PORT: port.default(3001),
  HOST: z.string().optional(),
  REDIS_URL: z.url(),
  DATABASE_URL: z.url(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});
