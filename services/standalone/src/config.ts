import { storeNames } from '@meridian/embedded/store-host';
import { CollectSettings } from '@meridian/ingest/config';
import { QueryEnvironment, QuestionSettings } from '@meridian/query/config';
import {
  appSecret,
  clickhouseUrl,
  databaseReplicaUrl,
  logLevel,
  port,
  postgresUrl,
  redisUrl,
  regionName,
  retentionDays,
} from '@meridian/runtime/config';
import { WorkerSettings } from '@meridian/worker/config';
import { z } from 'zod';

/** What else than regions is in the data directory of several, or of one. */
const dataDirNames = ['registry', 'run', 'lock', 'app-secret', 'peer-secret', ...storeNames];

/** Names of regions, separated by commas, each once; every one names a folder of the data directory, too. */
const Regions = z
  .string()
  .transform((text) => text.split(',').flatMap((name) => name.trim() || []))
  .pipe(
    z
      .array(regionName.refine((name) => !dataDirNames.includes(name), `cannot be ${dataDirNames.join(', ')}`))
      .refine((names) => new Set(names).size === names.length, 'names a region twice'),
  );

/** The environment of `npm start`: everything has a default. An address of a store replaces the embedded one. */
export const StandaloneConfig = CollectSettings.extend(
  QueryEnvironment.pick({ MODE: true, ADMIN_USERNAME: true, ADMIN_PASSWORD: true, HOST: true, METRICS_PORT: true })
    .shape,
)
  .extend(QuestionSettings.shape)
  .extend(WorkerSettings.shape)
  .extend({
    PORT: port.default(3000),
    /** More than none: so many regions on this machine, on ports that count up from `PORT`. */
    REGIONS: Regions.default([]),
    /** Where the embedded stores and the kept secret live. */
    DATA_DIR: z.string().default('.meridian'),
    /** Generated and kept in DATA_DIR when not given. */
    APP_SECRET: appSecret.optional(),
    DATABASE_URL: postgresUrl.optional(),
    DATABASE_REPLICA_URL: databaseReplicaUrl,
    CLICKHOUSE_URL: clickhouseUrl.optional(),
    REDIS_URL: redisUrl.optional(),
    RETENTION_DAYS: retentionDays,
    LOG_LEVEL: logLevel.default('warn'),
  });
export type StandaloneConfig = z.infer<typeof StandaloneConfig>;
