import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseClient } from '@clickhouse/client';
import { readCluster, systemTable } from './cluster.ts';
import { toReadError } from './warehouse-error.ts';

const pauseMs = 100;

/**
 * Resolves when every insert that runs at the moment of the call has ended, whoever sent it: what it stores is seen by the questions that
 * come after. On a cluster it looks at every node.
 */
export async function untilInsertsEnd(client: ClickHouseClient): Promise<void> {
  try {
    const [cluster, own] = await Promise.all([readCluster(client), runningInserts(client, 'system.processes')]);
    const processes = systemTable('processes', cluster);
    for (let running = cluster ? await runningInserts(client, processes) : own; running.length > 0; ) {
      await delay(pauseMs);
      const now = new Set(await runningInserts(client, processes));
      running = running.filter((id) => now.has(id));
    }
  } catch (error) {
    throw toReadError(error);
  }
}

async function runningInserts(client: ClickHouseClient, processes: string): Promise<string[]> {
  const answer = await client.query({
    query: `SELECT query_id FROM ${processes} WHERE query_kind = 'Insert' AND current_database = currentDatabase()`,
    format: 'JSONEachRow',
  });
  return (await answer.json<{ query_id: string }>()).map((row) => row.query_id);
}
