import { appSecret, port } from '@meridian/runtime/config';
import { ProxySettings } from '@meridian/runtime/http/proxy-settings';
import { z } from 'zod';

/** The environment of a query API that runs as its own process. */
export const QueryEnvironment = z.object({
  PORT: port.default(3002),
  HOST: z.string().optional(),
  DATABASE_URL: z.url(),
  CLICKHOUSE_URL: z.url(),
  REDIS_URL: z.url(),
  APP_SECRET: appSecret,
  REGION: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/, 'must be lower-case letters, digits and dashes')
    .default('us'),
  ...ProxySettings.shape,
  /** `cloud` knows API keys only: no logins, no user management, nothing under /api. */
  MODE: z.enum(['self-hosted', 'cloud']).default('self-hosted'),
  /** The account that the first start creates on self-hosted; its password is generated and shown once when not given. */
  ADMIN_USERNAME: z.string().default('admin'),
  ADMIN_PASSWORD: z.string().min(8).max(255).optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});
export type QueryEnvironment = z.infer<typeof QueryEnvironment>;
