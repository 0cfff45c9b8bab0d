import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PeerSettings } from '@meridian/peers/peer-settings';
import {
  ConfigError,
  clickhouseUrl,
  eventLogPartitions,
  postgresUrl,
  redisUrl,
  region,
  regionName,
  retentionDays,
} from '@meridian/runtime/config';
import { ProxySettings } from '@meridian/runtime/http/proxy-settings';
import { StartError } from '@meridian/runtime/process';
import { z } from 'zod';

/** The environment of the command: that of the services, or none where `npm start` runs on embedded stores. */
export const CliConfig = z.object({
  DATABASE_URL: postgresUrl.optional(),
  CLICKHOUSE_URL: clickhouseUrl.optional(),
  REDIS_URL: redisUrl.optional(),
  EVENT_LOG_PARTITIONS: eventLogPartitions,
  /** The region whose stores are meant, and where an account is at home unless told otherwise. */
  REGION: regionName.optional(),
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
type RunningStores = z.infer<typeof RunningStores>;

/** What `npm start` notes of several regions that run. */
const RunningRegions = z.object({ peers: PeerSettings.shape.PEERS, databaseUrl: z.url() });

/** Where a store is, asked for only when it is needed. Throws ConfigError that says what to set. */
export type Addresses = { database(): string; clickhouse(): string; redis(): string };

/** The regions that the command knows of, and where the stores are. */
export type Installation = {
  addresses: Addresses;
  /**
   * Names of all regions that there are as far as is known: as for the services that of `REGION` and those in `PEERS`.
   */
  regions: readonly string[];
  peers: PeerSettings;
  /** The region that the command is for. Throws ConfigError where several run and none of them is named. */
  region(): string;
};

/**
 * As the environment says; what it leaves open is that of the stores, or of the several regions, that `npm start` runs
 * on DATA_DIR. Those regions are meant unless DATABASE_URL is that of another installation.
 */
export function findInstallation(config: Readonly<CliConfig>): Installation {
  const { DATA_DIR: dataDir } = config;
  const running = readNote(join(dataDir, 'run', 'regions.json'), RunningRegions);
  if (!running || isOfAnother(config, running.databaseUrl)) {
    const own = region.parse(config.REGION);
    return {
      addresses: findAddresses(config, () => dataDir),
      regions: [...new Set([own, ...config.PEERS.keys()])],
      peers: config,
      region: () => own,
    };
  }
  const regions = [...running.peers.keys()];
  const named = () => {
    if (config.REGION !== undefined && regions.includes(config.REGION)) return config.REGION;
    throw new ConfigError(
      `${config.REGION === undefined ? 'No region is named' : `${config.REGION} is none of them`}: the regions ${regions.join(', ')} run on the data directory ${dataDir} (DATA_DIR). Set REGION to one of them.`,
    );
  };
  return {
    addresses: findAddresses(config, (store) => join(dataDir, store === 'databaseUrl' ? 'registry' : named())),
    regions,
    peers: { PEERS: running.peers, PEER_SECRET: config.PEER_SECRET ?? readPeerSecret(dataDir) },
    region: named,
  };
}

function isOfAnother({ DATABASE_URL }: Readonly<CliConfig>, databaseUrl: string): boolean {
  return DATABASE_URL !== undefined && databaseOf(DATABASE_URL) !== databaseOf(databaseUrl);
}

/** Which database it is, whoever asks it and in which way. */
function databaseOf(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname}:${port || '5432'}${pathname}`;
}

function findAddresses(config: Readonly<CliConfig>, dataDirOf: (store: keyof RunningStores) => string): Addresses {
  const find = (name: 'DATABASE_URL' | 'CLICKHOUSE_URL' | 'REDIS_URL', store: keyof RunningStores) => () => {
    if (config[name]) return config[name];
    const dataDir = dataDirOf(store);
    const url = readRunningStores(dataDir)[store];
    if (url) return url;
    throw new ConfigError(`${name} is not set, and no such store runs on the data directory ${dataDir} (DATA_DIR).`);
  };
  return {
    database: find('DATABASE_URL', 'databaseUrl'),
    clickhouse: find('CLICKHOUSE_URL', 'clickhouseUrl'),
    redis: find('REDIS_URL', 'redisUrl'),
  };
}

const readRunningStores = (dataDir: string): RunningStores =>
  readNote(join(dataDir, 'run', 'stores.json'), RunningStores) ?? {};

/** What was made at a start without PEER_SECRET. */
function readPeerSecret(dataDir: string): string | undefined {
  return readIfThere(join(dataDir, 'peer-secret'))?.trim();
}

function readNote<Schema extends z.ZodType>(file: string, schema: Schema): z.output<Schema> | undefined {
  const text = readIfThere(file);
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw cannotBeRead(file, error);
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw cannotBeRead(file, error);
  }
}

const cannotBeRead = (file: string, error: unknown): StartError =>
  new StartError(`${file} cannot be read: ${error instanceof Error ? error.message : error}`);
