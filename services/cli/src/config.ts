import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PeerSettings } from '@meridian/peers/peer-settings';
import { ConfigError, eventLogPartitions, region, retentionDays } from '@meridian/runtime/config';
import { ProxySettings } from '@meridian/runtime/http/proxy-settings';
import { StartError } from '@meridian/runtime/process';
import { z } from 'zod';

/** The environment of the command: that of the services, or none where `npm start` runs on embedded stores. */
export const CliConfig = z.object({
  DATABASE_URL: z.url().optional(),
  CLICKHOUSE_URL: z.url().optional(),
  REDIS_URL: z.url().optional(),
  EVENT_LOG_PARTITIONS: eventLogPartitions,
  /** Where what is created is at home unless told otherwise. */
  REGION: region,
  /** Name of the ClickHouse cluster on which `migrate` creates the tables; unset on a single server. */
  CLICKHOUSE_CLUSTER: z.string().optional(),
  /** For how many days events are kept; unset: for ever. `migrate` sets it. */
  RETENTION_DAYS: retentionDays,
  DATA_DIR: z.string().default('.meridian'),
  ...PeerSettings.shape,
  CLIENT_IP_HEADER: ProxySettings.shape.CLIENT_IP_HEADER,
  GEOIP_DB: z.string().optional(),
});
export type CliConfig = z.infer<typeof CliConfig>;

/** What `npm start` notes of the embedded stores that run. */
const RunningStores = z.object({
  databaseUrl: z.url().optional(),
  clickhouseUrl: z.url().optional(),
  redisUrl: z.url().optional(),
});

/** Where a store is, asked for only when it is needed. Throws ConfigError that says what to set. */
export type Addresses = { database(): string; clickhouse(): string; redis(): string };

/** The addresses that the environment gives; for the others those of the embedded stores that run on DATA_DIR. */
export function findAddresses(config: Readonly<CliConfig>): Addresses {
  const find =
    (name: 'DATABASE_URL' | 'CLICKHOUSE_URL' | 'REDIS_URL', key: keyof z.infer<typeof RunningStores>) => () => {
      const url = config[name] ?? readRunningStores(config.DATA_DIR)[key];
      if (url) return url;
      throw new ConfigError(
        `${name} is not set, and no such store runs on the data directory ${config.DATA_DIR} (DATA_DIR).`,
      );
    };
  return {
    database: find('DATABASE_URL', 'databaseUrl'),
    clickhouse: find('CLICKHOUSE_URL', 'clickhouseUrl'),
    redis: find('REDIS_URL', 'redisUrl'),
  };
}

function readRunningStores(dataDir: string): z.infer<typeof RunningStores> {
  const file = join(dataDir, 'run', 'stores.json');
  try {
    return RunningStores.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new StartError(`${file} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}
