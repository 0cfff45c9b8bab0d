import { createClient } from '@clickhouse/client';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { clientOptions } from './client.ts';
import { toReadError } from './warehouse-error.ts';

const answerMaxMs = 10_000;

/** What ClickHouse's clock says; the database need not be there. @throws WarehouseError */
export async function readClickHouseClock(clickhouseUrl: string): Promise<Date> {
  const client = createClient({
    ...clientOptions({ ...parseClickHouseUrl(clickhouseUrl), database: 'default' }),
    request_timeout: answerMaxMs,
  });
  try {
    const answer = await client.query({
      query: 'SELECT toUnixTimestamp64Milli(now64(3)) AS ms',
      format: 'JSONEachRow',
    });
    const [row] = await answer.json<{ ms: string | number }>();
    return new Date(Number(row?.ms));
  } catch (error) {
    throw toReadError(error);
  } finally {
    await client.close();
  }
}
