import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { parseClickHouseUrl } from '../clickhouse-url.ts';
import { clientOptions } from '../client.ts';
import { callsOf } from '../warehouse-error.ts';
import { compareRollups } from './compare.ts';
import { repairScope } from './repair.ts';

/** A day of a big website takes its time. */
const statementMaxMs = 3_600_000;
/** A server that says nothing is told of before anything may take so long. */
const answerMaxMs = 10_000;

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
    compare: reading(afterAnswer(compareRollups)),
    /** Puts them right; tells which they were. */
    repair: writing(afterAnswer(repairScope)),
    close: () => client.close(),
  };
}

function afterAnswer<Args extends unknown[], Result>(
  work: (client: ClickHouseClient, ...args: Args) => Promise<Result>,
) {
  return async (client: ClickHouseClient, ...args: Args): Promise<Result> => {
    const abort_signal = AbortSignal.timeout(answerMaxMs);
    await client.command({ query: 'SELECT 1', abort_signal }).catch((error) => {
      throw abort_signal.aborted ? new Error(`no answer within ${answerMaxMs / 1_000} s`) : error;
    });
    return work(client, ...args);
  };
}
