import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client';

/**
 * Why the warehouse did not do what was asked:
 * - `data`: a value of the inserted block cannot be stored; the same block will fail again, its other rows will not
 * - `unavailable`: not reachable, overloaded or unknown; the same call may succeed later
 * - `timeout`, `limit`: a query took longer, or read or held more, than one query may; of an insert `limit` means that
 *   there was no memory for the block, though there may be for a part of it
 * - `invalid-expression`: a regular expression of a filter cannot be compiled
 * - `aborted`: the caller's signal ended the query
 */
export const warehouseErrorKinds = [
  'data',
  'unavailable',
  'timeout',
  'limit',
  'invalid-expression',
  'aborted',
] as const;
export type WarehouseErrorKind = (typeof warehouseErrorKinds)[number];

/**
 * The only error the warehouse throws for what ClickHouse or the way to it did. Its message may hold SQL: for logs, not
 * for clients.
 */
export class WarehouseError extends Error {
  readonly kind: WarehouseErrorKind;

  constructor(kind: WarehouseErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WarehouseError';
    this.kind = kind;
  }
}

/** ClickHouse's error codes (ErrorCodes.cpp) that mean something else than "try again later". */
const kindOfCode: Record<string, WarehouseErrorKind> = {
  6: 'data', // CANNOT_PARSE_TEXT
  25: 'data', // CANNOT_PARSE_ESCAPE_SEQUENCE
  26: 'data', // CANNOT_PARSE_QUOTED_STRING
  27: 'data', // CANNOT_PARSE_INPUT_ASSERTION_FAILED
  33: 'data', // CANNOT_READ_ALL_DATA
  38: 'data', // CANNOT_PARSE_DATE
  41: 'data', // CANNOT_PARSE_DATETIME
  53: 'data', // TYPE_MISMATCH
  69: 'data', // ARGUMENT_OUT_OF_BOUND
  70: 'data', // CANNOT_CONVERT_TYPE
  72: 'data', // CANNOT_PARSE_NUMBER
  117: 'data', // INCORRECT_DATA
  131: 'data', // TOO_LARGE_STRING_SIZE
  321: 'data', // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
  349: 'data', // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
  376: 'data', // CANNOT_PARSE_UUID
  407: 'data', // DECIMAL_OVERFLOW
  469: 'data', // VIOLATED_CONSTRAINT
  691: 'data', // UNKNOWN_ELEMENT_OF_ENUM
  158: 'limit', // TOO_MANY_ROWS
  241: 'limit', // MEMORY_LIMIT_EXCEEDED
  307: 'limit', // TOO_MANY_BYTES
  396: 'limit', // TOO_MANY_ROWS_OR_BYTES
  159: 'timeout', // TIMEOUT_EXCEEDED
  160: 'timeout', // TOO_SLOW
  394: 'aborted', // QUERY_WAS_CANCELLED
  427: 'invalid-expression', // CANNOT_COMPILE_REGEXP
};

/** Gives functions their client; what they throw of it is then a WarehouseError, by whether they read or write. */
export function callsOf(client: ClickHouseClient) {
  const throwing =
    (toError: (error: unknown) => WarehouseError) =>
    <Args extends unknown[], Result>(call: (client: ClickHouseClient, ...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> =>
      call(client, ...args).catch((error) => {
        throw toError(error);
      });
  return { reading: throwing((error) => toReadError(error)), writing: throwing(toWriteError) };
}

/** What may become of a read. */
export function toReadError(error: unknown, signal?: AbortSignal): WarehouseError {
  if (signal?.aborted) return new WarehouseError('aborted', 'The query was given up', { cause: error });
  return classified(error, (kind) => (kind === 'data' ? 'unavailable' : kind));
}

/** What may become of a write: only bad values, too little memory and "later". */
export function toWriteError(error: unknown): WarehouseError {
  return classified(error, (kind) => (kind === 'data' || kind === 'limit' ? kind : 'unavailable'));
}

function classified(error: unknown, narrow: (kind: WarehouseErrorKind) => WarehouseErrorKind): WarehouseError {
  if (error instanceof WarehouseError) return error;
  const kind = (error instanceof ClickHouseError && kindOfCode[error.code]) || 'unavailable';
  const message = error instanceof Error ? error.message : String(error);
  return new WarehouseError(narrow(kind), message, { cause: error });
}
