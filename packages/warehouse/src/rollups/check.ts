import { createClient } from '@clickhouse/client';
import { parseClickHouseUrl } from '../clickhouse-url.ts';
import { clientOptions } from '../client.ts';
import { toReadError, toWriteError } from '../warehouse-error.ts';
import { compareRollups } from './compare.ts';
import type { RollupComparison } from './differences.ts';
import type { RollupScope } from './parts.ts';
import { repairScope } from './repair.ts';

/** A day of a big website takes its time. */
const statementMaxMs = 3_600_000;

export type RollupCheck = ReturnType<typeof createRollupCheck>;

/** The operator's way to the rollups, with a patience of its own. Opens nothing before the first call; throws WarehouseError. */
export function createRollupCheck(clickhouseUrl: string) {
  const client = createClient({ ...clientOptions(parseClickHouseUrl(clickhouseUrl)), request_timeout: statementMaxMs });
  return {
    /** Which rows are not what the events make of them. Changes nothing. */
    compare: (now: Date, scope: RollupScope): Promise<RollupComparison> =>
      compareRollups(client, now, scope).catch((error) => {
        throw toReadError(error);
      }),
    /** Puts them right; tells which they were. */
    repair: (now: Date, scope: RollupScope): Promise<RollupComparison> =>
      repairScope(client, now, scope).catch((error) => {
        throw toWriteError(error);
      }),
    close: () => client.close(),
  };
}
