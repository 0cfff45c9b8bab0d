import { Username } from '@meridian/contract/accounts';
import { PeerSettings } from '@meridian/peers/peer-settings';
import {
  appSecret,
  clickhouseUrl,
  databaseReplicaUrl,
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
import { ProxySettings } from '@meridian/runtime/http/proxy-settings';
import { z } from 'zod';
import type { QueryConfig } from './query-env.ts';
import { defaultQuestionLimits as defaults } from './statistics/question-turns.ts';

/** The longest that a question can be made to wait for its turn. */
export const questionWaitMaxMs = 60_000;
/** Longer than the slowest question, which the warehouse ends after 15 s. */
export const questionMaxMs = 20_000;

/** How many questions of one account, and of all, a process asks ClickHouse at once; the others wait for their turn. */
export const QuestionSettings = z.object({
  QUESTIONS_PER_CALLER: wholeNumber(1).default(defaults.perCaller),
  QUESTIONS_IN_ALL: wholeNumber(1).default(defaults.inAll),
  QUESTION_WAIT_MAX_MS: wholeNumber(0, questionWaitMaxMs).default(defaults.waitMaxMs),
});

/** The environment of a query API that runs as its own process. */
export const QueryEnvironment = z.object({
  PORT: port.default(3002),
  HOST: host,
  METRICS_PORT: metricsPort,
  DATABASE_URL: postgresUrl,
  DATABASE_REPLICA_URL: databaseReplicaUrl,
  CLICKHOUSE_URL: clickhouseUrl,
  REDIS_URL: redisUrl,
  APP_SECRET: appSecret,
  APP_SECRET_PREVIOUS: previousAppSecrets,
  REGION: region,
  ...PeerSettings.shape,
  ...ProxySettings.shape,
  /** `cloud` knows API keys only: no logins, no user management, nothing under /api. */
  MODE: z.enum(['self-hosted', 'cloud']).default('self-hosted'),
  /**
   * The account that the first start creates on self-hosted; its password is generated and shown once when not given.
   */
  ADMIN_USERNAME: Username.default('admin'),
  ADMIN_PASSWORD: z.string().min(8).max(255).optional(),
  ...QuestionSettings.shape,
  LOG_LEVEL: logLevel.default('info'),
  LOG_SAMPLE_RATE: logSampleRate.default(1),
  STOP_DELAY_MS: stopDelayMs,
});
export type QueryEnvironment = z.infer<typeof QueryEnvironment>;

/** What of the environment the API itself goes by, alone or in the process of `npm start`. */
type ApiSettings = z.infer<typeof QuestionSettings> &
  z.infer<typeof ProxySettings> &
  Pick<QueryEnvironment, 'REGION' | 'MODE' | 'APP_SECRET' | 'APP_SECRET_PREVIOUS' | 'LOG_SAMPLE_RATE'>;

export function toQueryConfig(settings: Readonly<ApiSettings>): QueryConfig {
  return {
    region: settings.REGION,
    mode: settings.MODE,
    appSecret: settings.APP_SECRET,
    previousAppSecrets: settings.APP_SECRET_PREVIOUS,
    trustedProxies: settings.TRUSTED_PROXIES,
    clientIpHeader: settings.CLIENT_IP_HEADER,
    logSampleRate: settings.LOG_SAMPLE_RATE,
    questionLimits: {
      perCaller: settings.QUESTIONS_PER_CALLER,
      inAll: settings.QUESTIONS_IN_ALL,
      waitMaxMs: settings.QUESTION_WAIT_MAX_MS,
    },
  };
}
