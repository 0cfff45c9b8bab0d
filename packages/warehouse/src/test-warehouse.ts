import { createClient } from '@clickhouse/client';
import { createClickHouseDatabase } from '@meridian/embedded/test-stores';
import { afterAll } from 'vitest';
import { parseClickHouseUrl } from './clickhouse-url.ts';
import { clientOptions } from './client.ts';
import { createWarehouse } from './warehouse.ts';

/**
 * A migrated warehouse for one test file, and a client that looks into its tables; its database goes with the file. It
 * answers from rollups, as it does of big websites.
 */
export async function createTestWarehouse() {
  const database = await createClickHouseDatabase();
  const warehouse = createWarehouse(database.url, { readFrom: 'rollups' });
  const client = createClient(clientOptions(parseClickHouseUrl(database.url)));
  await warehouse.migrate();
  afterAll(async () => {
    await client.close();
    await warehouse.close();
    await database.drop();
  });
  return { warehouse, client, database };
}
