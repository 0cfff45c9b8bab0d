import { open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { takeSnapshot } from '@meridian/registry/snapshot';
import { StartError } from '@meridian/runtime/process';
import { parseOptions, required } from './arguments.ts';
import { type Print, printable, toPrintableJson } from './print.ts';

type BackupDeps = {
  databaseUrl: string;
  now: () => Date;
  /** Where `--out -` goes. */
  output: Writable;
};

/**
 * `meridian backup --out <file or folder>`: the registry as of one moment, gzipped. A file is whole or not there,
 * readable for its owner only, and never replaces another one.
 */
export async function runBackup(
  { databaseUrl, now, output }: BackupDeps,
  args: string[],
  print: Print,
): Promise<number> {
  const { out, json } = parseOptions(args, ['out'], ['json']);
  const target = required('out', out);
  const takenAt = now();
  const take = (to: Writable, end: boolean) =>
    takeSnapshot(databaseUrl, takenAt, (text) => pipeline(text, createGzip(), to, { end }));
  if (target === '-') {
    await take(output, false);
    return 0;
  }
  const file = await fileFor(target, takenAt);
  const { bytes, head } = await writeWhole(file, (to) => take(to, true));
  if (json) print(toPrintableJson({ file, bytes, ...head }));
  else print(`${printable(file)}: ${bytes} bytes, ${summaryOf(head.tables)}, schema ${head.schema}`);
  return 0;
}

/** Such as "2 user_account, 5 website". */
export function summaryOf(tables: Readonly<Record<string, number>>): string {
  const counts = Object.entries(tables).filter(([, rows]) => rows > 0);
  return counts.length === 0 ? 'no rows' : counts.map(([table, rows]) => `${rows} ${table}`).join(', ');
}

async function fileFor(target: string, takenAt: Date): Promise<string> {
  const found = await stat(target).catch(() => null);
  if (found && !found.isDirectory()) throw new StartError(`${printable(target)} is there already.`);
  const time = takenAt.toISOString().replace(/\.\d+|[-:]/g, '');
  return found ? join(target, `meridian-registry-${time}.ndjson.gz`) : target;
}

/** Under another name until it is whole and on the disk. */
async function writeWhole<Head>(file: string, write: (to: Writable) => Promise<Head>) {
  const part = `${file}.part`;
  const begun = await open(part, 'wx', 0o600);
  try {
    const head = await write(begun.createWriteStream({ flush: true }));
    const { size } = await stat(part);
    await rename(part, file);
    await syncFolder(join(file, '..'));
    return { head, bytes: size };
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** So that the new name is on the disk as well. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
