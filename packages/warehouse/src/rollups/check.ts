import { createClient } from '@clickhouse/client';
import { parseClickHouseUrl } from '../clickhouse-url.ts';
import { clientOptions } from '../client.ts';
import { callsOf } from '../warehouse-error.ts';
import { compareRollups } from './compare.ts';
import { repairScope } from './repair.ts';

/** A day of a big website takes its time. */
const statementMaxMs = 3_600_000;

export type RollupCheck = ReturnType<typeof createRollupCheck>;

/**
 * The operator's way to the rollups, with a patience of its own. Opens nothing before the first call; throws
 * WarehouseError.
 */
export function createRollupCheck(clickhouseUrl: string) {
  const client = createClient({ ...clientOptions(parseClickHouseUrl(clickhouseUrl)), request_timeout: statementMaxMs });
  const { reading, writing } = callsOf(client);
  return {
    /** Which rows are not what the events make of them. Changes nothing. */
    compare: reading(compareRollups),
    /** Puts them right; tells which they were. */
    repair: writing(repairScope),
    close: () => client.close(),
  };
}
