import { z } from 'zod';

/** Environment values that hold a secret, or an address with one inside; shown as *** at start. */
const secretName = /SECRET|PASSWORD|TOKEN|_KEY$/;

/** Names every faulty variable at once, so that an operator mends them in one round. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Reads the process's configuration: the only place where the environment is looked at.
 * An empty or blank value counts as unset.
 * @throws ConfigError that lists all faults, each with the variable's name
 */
export function loadConfig<Schema extends z.ZodType>(
  schema: Schema,
  env: Record<string, string | undefined>,
): Readonly<z.output<Schema>> {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
  const parsed = schema.safeParse(set);
  if (parsed.success) return Object.freeze(parsed.data as object) as Readonly<z.output<Schema>>;
  const faults = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    const missing = issue.code === 'invalid_type' && !(name in set);
    return `  ${name}: ${missing ? 'is required' : issue.message}`;
  });
  throw new ConfigError(`Configuration is not valid:\n${faults.join('\n')}`);
}

/** The configuration for the log: secrets replaced, of an address no more than where it leads. */
export function redactConfig(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => {
      if (secretName.test(name) && value !== undefined) return [name, '***'];
      return [name, typeof value === 'string' && value.includes('://') ? placeOf(value) : value];
    }),
  );
}

/** Without the query, which may hold a password as well. */
function placeOf(address: string): string {
  if (!URL.canParse(address)) return '***';
  const { protocol, username, password, host, pathname } = new URL(address);
  return `${protocol}//${username || password ? '***@' : ''}${host}${pathname}`;
}

const isLongSecret = (secret: string) => Buffer.byteLength(secret) >= 32;

/**
 * `APP_SECRET`: signs session, share and cache tokens; at least 32 bytes (reliability of every signature hangs on it).
 */
export const appSecret = z.string().refine(isLongSecret, 'must have at least 32 bytes');

/**
 * `APP_SECRET_PREVIOUS`: what was the secret before, the latest first: what it signed still counts. Separated by
 * commas.
 */
export const previousAppSecrets = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((secret) => secret.trim() || []))
  .refine((secrets) => secrets.every(isLongSecret), 'each must have at least 32 bytes; a comma ends one');

/** `DATABASE_URL`: PostgreSQL. */
export const postgresUrl = storeUrl(/^postgres(ql)?$/, 'postgres://user:password@host:5432/meridian');

/** `DATABASE_REPLICA_URL`: a read replica of the registry, asked while the primary is away. */
export const databaseReplicaUrl = postgresUrl.optional();

/** `CLICKHOUSE_URL`: ClickHouse over HTTP. What it may hold is what packages/warehouse reads of it. */
export const clickhouseUrl = storeUrl(/^https?$/, 'http://user:password@host:8123/meridian', {
  database: 'made of letters, digits and _',
  isFit: (url) => /^([A-Za-z_][A-Za-z0-9_]*)?$/.test(url.searchParams.get('database') || url.pathname.slice(1)),
});

/** `REDIS_URL`: Redis or Valkey. */
export const redisUrl = storeUrl(/^rediss?$/, 'redis://:password@host:6379/0', {
  database: 'a number',
  isFit: (url) => /^\/?\d*$/.test(url.pathname),
});

/** `database`: what its name is, where not every name is fit. */
function storeUrl(protocol: RegExp, example: string, names?: { database: string; isFit(url: URL): boolean }) {
  const encoded = `must be like ${example}, with user and password percent-encoded`;
  const message = names ? `${encoded}, and the name of the database, if any, ${names.database}` : encoded;
  return z
    .url({ protocol, error: message, abort: true })
    .refine((text) => isAddress(text) && isDecodable(text) && (names?.isFit(new URL(text)) ?? true), message);
}

/** Not what a scheme without a host is, nor what a password with a raw `/` or `#` makes: its rest is no path. */
function isAddress(text: string): boolean {
  const { pathname, hash } = new URL(text);
  return text.includes('://') && !pathname.includes('@') && hash === '';
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** A whole number as text; without `max` any from `min` on. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER) {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const message = `must be a whole number ${range}`;
  return z.coerce
    .number(message)
    .refine((value) => Number.isSafeInteger(value) && value >= min && value <= max, message);
}

/** A TCP port as text; 0 takes a free one. */
export const port = wholeNumber(0, 65_535);

/** `HOST`: the address to listen on; without one, all. */
export const host = z.string().optional();

/** `METRICS_PORT`: where Prometheus reads the metrics; without one, nowhere. */
export const metricsPort = port.optional();

/** `LOG_LEVEL`; `silent` logs nothing. */
export const logLevel = z.enum(['debug', 'info', 'warn', 'error', 'silent']);

/** `STOP_DELAY_MS`: how long a process that is told to stop still serves, while /readyz says 503. */
export const stopDelayMs = wholeNumber(0, 10_000).default(0);

const aShare = 'must be a number from 0 to 1';
/** `LOG_SAMPLE_RATE`: the share of requests that are logged, 0 to 1. */
export const logSampleRate = z.coerce.number(aShare).min(0, aShare).max(1, aShare);

export const regionName = z.string().regex(/^[a-z][a-z0-9-]*$/, 'must be lower-case letters, digits and dashes');

/** `REGION`: the name of the region that a process serves. */
export const region = regionName.default('us');

/** `EVENT_LOG_PARTITIONS`: the same for every collector and worker of a region. */
export const eventLogPartitions = wholeNumber(1, 256).default(1);

/** `RETENTION_DAYS`: for how many days events are kept; unset: for ever. */
export const retentionDays = wholeNumber(1, 36_500).optional();
