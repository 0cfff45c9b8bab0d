import { type ClickHouseClient, type ClickHouseClientConfigOptions, ClickHouseLogLevel } from '@clickhouse/client';
import type { ClickHouseAddress } from './clickhouse-url.ts';

/** The longest that a call may take, above all limits of ClickHouse itself; not of migrations and removals. */
const requestMaxMs = 120_000;

/**
 * The cache of which granules fit a condition (on by default) has had faults that leave out rows that fit, ClickHouse
 * 25.3 to 26.x (DECISIONS, 2026-11-28).
 */
export const noConditionCache = { use_query_condition_cache: 0 } as const;

/**
 * How every connection to ClickHouse is set up. The client's own log is off: errors are thrown, and who catches them
 * logs them.
 */
export function clientOptions(address: ClickHouseAddress): ClickHouseClientConfigOptions {
  return {
    ...address,
    application: 'meridian',
    request_timeout: requestMaxMs,
    max_open_connections: 20,
    use_multipart_params_auto: true,
    clickhouse_settings: noConditionCache,
    log: { level: ClickHouseLogLevel.OFF },
  };
}

/**
 * The rows of a SELECT, as JSON has them: 64-bit numbers may come as text. `params`: what `{name:Type}` in it stands
 * for.
 */
export async function rowsOf<Row>(
  client: ClickHouseClient,
  query: string,
  params: Record<string, unknown> = {},
): Promise<Row[]> {
  const answer = await client.query({ query, query_params: params, format: 'JSONEachRow' });
  return answer.json<Row>();
}
