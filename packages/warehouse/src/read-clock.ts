import { createClient } from '@clickhouse/client';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { clientOptions, rowsOf } from './client.ts';
import { toReadError } from './warehouse-error.ts';

const answerMaxMs = 10_000;

/** What ClickHouse's clock says; the database need not be there. @throws WarehouseError */
export async function readClickHouseClock(clickhouseUrl: string): Promise<Date> {
  const client = createClient({
    ...clientOptions({ ...parseClickHouseUrl(clickhouseUrl), database: 'default' }),
    request_timeout: answerMaxMs,
  });
  try {
    const [row] = await rowsOf<{ ms: string | number }>(client, 'SELECT toUnixTimestamp64Milli(now64(3)) AS ms');
    return new Date(Number(row?.ms));
  } catch (error) {
    throw toReadError(error);
  } finally {
    await client.close();
  }
}
