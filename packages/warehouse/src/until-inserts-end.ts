import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseClient } from '@clickhouse/client';
import { rowsOf } from './client.ts';
import { readCluster, systemTable } from './cluster.ts';

const pauseMs = 100;

/**
 * Resolves when every insert that runs at the moment of the call has ended, whoever sent it: what it stores is seen by
 * the questions that come after. On a cluster it looks at every node.
 */
export async function untilInsertsEnd(client: ClickHouseClient): Promise<void> {
  const [cluster, own] = await Promise.all([readCluster(client), runningInserts(client, undefined)]);
  for (let running = cluster ? await runningInserts(client, cluster) : own; running.length > 0; ) {
    await delay(pauseMs);
    const now = new Set(await runningInserts(client, cluster));
    running = running.filter((id) => now.has(id));
  }
}

/** The ids of the inserts that run at this moment, on every node of the cluster. */
export async function runningInserts(client: ClickHouseClient, cluster: string | undefined): Promise<string[]> {
  const rows = await rowsOf<{ query_id: string }>(
    client,
    `SELECT query_id FROM ${systemTable('processes', cluster)} WHERE query_kind = 'Insert' AND current_database = currentDatabase()`,
  );
  return rows.map((row) => row.query_id);
}
