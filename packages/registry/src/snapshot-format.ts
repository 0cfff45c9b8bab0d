import { createHash } from 'node:crypto';

/*
 * A snapshot of the registry is text, one JSON value per line:
 *
 *   {"format":"meridian-registry","version":1,"takenAt":"…","schema":"0004_shares_and_audit","tables":{"user_account":2,…}}
 *   {"user_account":{"id":"…",…}}     as many as the first line says, table after table in its order, columns by name
 *   {"sha256":"…"}                    of all bytes before this line
 */
const format = 'meridian-registry';
const version = 1;

/** Why a snapshot is not restored, or none is taken, for whoever asked for it. Nothing was written. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

/**
 * What a snapshot holds. `schema`: name of the last migration that its tables have seen; `tables`: rows of each, in the
 * order in which they come.
 */
export type SnapshotHead = { takenAt: string; schema: string; tables: Record<string, number> };

/** Lines of a snapshot with their checksum behind them. */
export async function* writeSnapshotText(
  { takenAt, schema, tables }: SnapshotHead,
  rowsOf: (table: string) => AsyncIterable<readonly string[]>,
): AsyncGenerator<string> {
  const hash = createHash('sha256');
  const hashed = (text: string): string => {
    hash.update(text);
    return text;
  };
  yield hashed(`${JSON.stringify({ format, version, takenAt, schema, tables })}\n`);
  for (const table of Object.keys(tables))
    for await (const rows of rowsOf(table)) yield hashed(rows.map((row) => `{"${table}":${row}}\n`).join(''));
  yield `${JSON.stringify({ sha256: hash.digest('hex') })}\n`;
}

/**
 * Reads a snapshot from its bytes: its head, then for each table its rows as JSON text. That all of it was as it had
 * been written shows at the end of the last table only, so that nothing may be kept before.
 * @throws SnapshotError, from the rows as well, when it is none, or is not whole
 */
export async function readSnapshotText(bytes: AsyncIterable<Uint8Array>) {
  const hash = createHash('sha256');
  const lines = splitLines(bytes);
  const nextLine = async (): Promise<string> => {
    const { done, value } = await lines.next();
    if (done) throw new SnapshotError('The backup is cut off: its end is missing.');
    return value;
  };
  const nextHashedLine = async (): Promise<string> => {
    const line = await nextLine();
    hash.update(`${line}\n`);
    return line;
  };
  const head = parseHead(await nextHashedLine());

  async function* rowsOf(table: string): AsyncGenerator<string> {
    const start = `{"${table}":`;
    for (let left = head.tables[table] ?? 0; left > 0; left--) {
      const line = await nextHashedLine();
      if (!line.startsWith(start) || !line.endsWith('}'))
        throw new SnapshotError(`The backup is damaged: a row of ${table} is missing.`);
      yield line.slice(start.length, -1);
    }
  }

  return {
    head,
    rowsOf,
    /** To be called behind the last row. */
    async verifyEnd(): Promise<void> {
      const line = await nextLine();
      if (line !== JSON.stringify({ sha256: hash.digest('hex') }))
        throw new SnapshotError('The backup is damaged: its checksum differs.');
      if (!(await lines.next()).done)
        throw new SnapshotError('The backup is damaged: there is something behind its end.');
    },
  };
}

function parseHead(line: string): SnapshotHead {
  const head = parseObject(line);
  if (head?.format !== format) throw new SnapshotError('This is no backup of a registry.');
  if (head.version !== version)
    throw new SnapshotError(`The backup has the format ${head.version}, which this version cannot read.`);
  const { takenAt, schema, tables } = head;
  const counts = typeof tables === 'object' && tables !== null ? (tables as Record<string, unknown>) : {};
  const isHead = typeof takenAt === 'string' && typeof schema === 'string' && Object.values(counts).every(isCount);
  if (!isHead) throw new SnapshotError('The backup is damaged: its first line makes no sense.');
  return { takenAt, schema, tables: counts as Record<string, number> };
}

const isCount = (value: unknown): boolean => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

function parseObject(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** Trap: node:readline ends lines at U+2028 and U+2029 as well, which stand in texts as they are. */
async function* splitLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  let begun: Buffer[] = [];
  for await (const piece of bytes) {
    let rest = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      yield Buffer.concat([...begun, rest.subarray(0, end)]).toString();
      begun = [];
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) begun.push(rest);
  }
  if (begun.length > 0) throw new SnapshotError('The backup is cut off: its last line has no end.');
}
