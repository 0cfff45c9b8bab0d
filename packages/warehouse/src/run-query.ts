import type { z } from 'zod';
import { noConditionCache } from './client.ts';
import type { Query } from './query.ts';
import type { Timing } from './question.ts';
import type { QuestionChannel } from './question-channel.ts';
import { toReadError, type WarehouseErrorKind } from './warehouse-error.ts';

/** On whose behalf a query runs. */
export type QueryContext = { websiteId: string; route: string; signal?: AbortSignal | undefined };

/** Runs a query and parses its rows; throws WarehouseError. */
export type RunQuery = <Row>(
  query: Query,
  context: QueryContext,
  row: z.ZodType<Row>,
) => Promise<{ rows: Row[]; timing: Timing }>;

/** Hears how long each query took, errors included, and how it ended. */
export type OnQuery = (seconds: number, outcome: 'ok' | WarehouseErrorKind) => void;

/** What one question may cost at most; beyond it the query fails, never answers in part. */
export const readSettings = {
  ...noConditionCache,
  readonly: '2',
  cancel_http_readonly_queries_on_client_close: 1,
  max_execution_time: 15,
  timeout_overflow_mode: 'throw',
  max_memory_usage: '4000000000',
  max_rows_to_read: '2000000000',
  read_overflow_mode: 'throw',
  max_result_rows: '100000',
  result_overflow_mode: 'throw',
  // Without this an error after the first rows would come as a broken connection, without its code.
  wait_end_of_query: 1,
  output_format_json_quote_64bit_integers: 0,
  // What a question reads twice of a table, visits at the range's ends and all others, is of one moment.
  enable_shared_storage_snapshot_in_query: 1,
  // Below half a million rows a second thread costs more than it brings: states of distinct visitors have to be merged.
  merge_tree_min_rows_for_concurrent_read: '524288',
  // Values with so many visitors are merged, and their visitors sorted, by more than one thread: countries of three
  // million visits are ranked in three quarters of the time. Of fewer it would cost a ranking of pages a tenth.
  group_by_two_level_threshold_bytes: '32000000',
  // A partition of visits that is merged into one part is read as it is.
  do_not_merge_across_partitions_select_final: 1,
  // On a cluster a website's rows lie on one shard, which answers alone, with what is asked inside of a question.
  optimize_skip_unused_shards: 1,
  distributed_product_mode: 'local',
} as const;

/** A little more than ClickHouse itself may take: one that says nothing by then is stuck. */
const defaultAnswerMaxMs = 16_000;

/** `channel`: one with `readSettings`. `answerMaxMs`: how long an answer is waited for. */
export function createRunQuery(
  channel: Pick<QuestionChannel, 'ask'>,
  onQuery: OnQuery = () => {},
  answerMaxMs = defaultAnswerMaxMs,
): RunQuery {
  return async (query, { websiteId, route, signal }, row) => {
    const startedAt = performance.now();
    const end = (outcome: Parameters<OnQuery>[1]): void => onQuery((performance.now() - startedAt) / 1_000, outcome);
    try {
      const comment = `${route} ${websiteId}`;
      const { data, statistics } = await channel.ask(query, { comment, signal, answerMaxMs });
      const timing = {
        elapsedMs: statistics.elapsed * 1000,
        rowsRead: statistics.rows_read,
        bytesRead: statistics.bytes_read,
      };
      const rows = data.map((value) => row.parse(value));
      end('ok');
      return { rows, timing };
    } catch (error) {
      const readError = toReadError(error, signal);
      end(readError.kind);
      throw readError;
    }
  };
}
