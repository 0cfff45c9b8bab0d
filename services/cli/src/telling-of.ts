import { StartError } from '@meridian/runtime/process';
import { messageOf } from './checks/finding.ts';
import { printable } from './print.ts';
import { UsageError } from './usage.ts';

/** Tells of what fails in a store with its variable: `tellingOf('ClickHouse (CLICKHOUSE_URL)', …)`. */
export async function tellingOf<Value>(store: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartError || error instanceof UsageError) throw error;
    throw new StartError(`${store}: ${printable(messageOf(error))}`);
  }
}
