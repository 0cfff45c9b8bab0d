import { appSecret, port } from '@meridian/runtime/config';
import { z } from 'zod';
import { createAddressList } from './client/address-list.ts';
import { botFilters } from './client/crawlers.ts';

/** Addresses and CIDR ranges, separated by commas. */
const addressList = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ''),
  )
  .superRefine((entries, context) => {
    for (const entry of entries) {
      try {
        createAddressList([entry]);
      } catch {
        context.addIssue({ code: 'custom', message: `"${entry}" is no address and no CIDR range` });
      }
    }
  });

/** What collection needs to know, wherever it runs. */
export const CollectSettings = z.object({
  APP_SECRET: appSecret,
  REGION: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/, 'must be lower-case letters, digits and dashes')
    .default('us'),
  /** Peers whose forwarding headers are believed. */
  TRUSTED_PROXIES: addressList,
  /** The header in which a trusted proxy tells the client's address, instead of X-Forwarded-For and Forwarded. */
  CLIENT_IP_HEADER: z.string().optional(),
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
