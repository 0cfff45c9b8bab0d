import { createHash } from 'node:crypto';

/** A block may be stored, and the store no longer knows its token: only what is missing of it may be sent. */
export class ForgottenTokenError extends Error {
  override readonly name = 'ForgottenTokenError';
}

/** Where rows of one kind go. */
export type BlockStore<Row> = {
  /**
   * Stores the rows as one block under the token, once, however often it is called. Waits while the store is away and,
   * with `isWhole`, while it lacks the memory for the block. Rejects with a ForgottenTokenError when the block may be
   * stored and its token forgotten: called once more then, it takes the rows as not stored.
   */
  insert(rows: readonly Row[], token: string, isWhole: boolean): Promise<void>;
  /** The rows that are not stored yet. */
  findMissing(rows: readonly Row[]): Promise<readonly Row[]>;
  /** Whether an error of `insert` means that a row cannot be stored. */
  isRefusal(error: unknown): boolean;
  /** Whether it means that the store lacks the memory for so many rows. */
  isTooLarge(error: unknown): boolean;
  /** Called before rows of a block are stored under other tokens than its own. */
  beforeParts(): Promise<void>;
  /** Takes a row that cannot be stored. */
  refuse(row: Row, reason: string): void;
  idOf(row: Row): string;
};

/**
 * Stores every row of a block that can be stored, and refuses the others. A block that the store refuses is cut in
 * halves until the bad rows are alone; one for which it lacks the memory is cut, too.
 * Trap: a refused block may be stored all the same, wholly or in part. So under another token than before only what is
 * missing is sent, and the token of a part is made of the rows in it, so that two workers that cut one block
 * differently never double a row. `mayBeStored`: some of the rows may be stored under other tokens. Otherwise the block
 * is sent whole even if it is stored: where ClickHouse died between the events and their views, that completes the
 * views.
 */
export function storeBlock<Row>(
  store: BlockStore<Row>,
  rows: readonly Row[],
  token: string,
  mayBeStored: boolean,
): Promise<void> {
  return storeCut(store, rows, { token, mayBeStored, depth: 0, isWhole: false });
}

/**
 * Refused halves are stored at the same time down to this depth: many bad rows take a fraction of the time, and the
 * store few at once.
 */
const parallelDepth = 3;

/**
 * Into so many parts a block is cut for which there is no memory. ClickHouse needs up to six times as much for the
 * views as for the events before them: half a block might be stored, and its views fail for ever.
 */
const smallerParts = 16;

type Cut = { token: string; mayBeStored: boolean; depth: number; isWhole: boolean };

async function storeCut<Row>(
  store: BlockStore<Row>,
  rows: readonly Row[],
  { token, mayBeStored, depth, isWhole }: Cut,
): Promise<void> {
  const missing = mayBeStored ? await store.findMissing(rows) : rows;
  if (missing.length === 0) return;
  const ownToken = missing.length === rows.length ? token : tokenOfRows(store, missing);
  try {
    await store.insert(missing, ownToken, isWhole || missing.length === 1);
  } catch (error) {
    if (error instanceof ForgottenTokenError) {
      await store.beforeParts();
      await storeCut(store, missing, { token: ownToken, mayBeStored: true, depth, isWhole });
    } else if (store.isTooLarge(error)) await storeSmaller(store, missing, { token: ownToken, depth });
    else if (store.isRefusal(error)) await storeParts(store, missing, { error, depth });
    else throw error;
  }
}

/**
 * Trap: often the events are stored already when the memory ends, in a view. Only the same block completes its views.
 */
async function storeSmaller<Row>(
  store: BlockStore<Row>,
  rows: readonly Row[],
  { token, depth }: { token: string; depth: number },
): Promise<void> {
  if ((await store.findMissing(rows)).length < rows.length)
    return storeCut(store, rows, { token, mayBeStored: false, depth, isWhole: true });
  await store.beforeParts();
  const size = Math.ceil(rows.length / smallerParts);
  for (let from = 0; from < rows.length; from += size) {
    const part = rows.slice(from, from + size);
    await storeCut(store, part, {
      token: tokenOfRows(store, part),
      mayBeStored: false,
      depth: depth + 1,
      isWhole: false,
    });
  }
}

async function storeParts<Row>(
  store: BlockStore<Row>,
  refused: readonly Row[],
  { error, depth }: { error: unknown; depth: number },
): Promise<void> {
  await store.beforeParts();
  const missing = await store.findMissing(refused);
  const [first] = missing;
  if (first === undefined) return;
  if (missing.length === 1) {
    store.refuse(first, error instanceof Error ? error.message : String(error));
    return;
  }
  const middle = missing.length >> 1;
  const halves = [missing.slice(0, middle), missing.slice(middle)];
  const storeHalf = (half: readonly Row[]) =>
    storeCut(store, half, { token: tokenOfRows(store, half), mayBeStored: false, depth: depth + 1, isWhole: false });
  if (depth >= parallelDepth) {
    for (const half of halves) await storeHalf(half);
    return;
  }
  // One that fails does not leave the other one alone at work.
  for (const outcome of await Promise.allSettled(halves.map(storeHalf)))
    if (outcome.status === 'rejected') throw outcome.reason;
}

/** The same rows always have the same one. */
export function tokenOfRows<Row>(store: Pick<BlockStore<Row>, 'idOf'>, rows: readonly Row[]): string {
  return createHash('sha256').update(rows.map(store.idOf).join()).digest('base64url');
}
