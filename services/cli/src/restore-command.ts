import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { restoreSnapshot } from '@meridian/registry/snapshot';
import { SnapshotError } from '@meridian/registry/snapshot-format';
import { StartError } from '@meridian/runtime/process';
import { parseOptions, required } from './arguments.ts';
import { summaryOf } from './backup-command.ts';
import { messageOf } from './checks/finding.ts';
import { type Print, printable, toPrintableJson } from './print.ts';

type RestoreDeps = {
  databaseUrl: string;
  /** What `--from -` reads. */
  input: Readable;
};

/**
 * `meridian restore --from <file>`: puts a backup into an empty registry of its schema, all of it or nothing. With
 * `--dry-run` everything is tried and nothing kept.
 */
export async function runRestore({ databaseUrl, input }: RestoreDeps, args: string[], print: Print): Promise<number> {
  const { from, 'dry-run': dryRun, json } = parseOptions(args, ['from'], ['dry-run', 'json']);
  const source = required('from', from);
  const unpacked = createGunzip();
  // What fails on the way is told by the last stream, which is the one that is read.
  pipeline(source === '-' ? input : createReadStream(source), unpacked, () => {});
  try {
    const head = await restoreSnapshot(databaseUrl, unpacked, { dryRun });
    if (json) print(toPrintableJson({ restored: !dryRun, ...head }));
    else print(`${summaryOf(head.tables)}, of ${head.takenAt}: ${dryRun ? 'can be restored' : 'restored'}`);
    return 0;
  } catch (error) {
    throw explained(error);
  } finally {
    unpacked.destroy();
  }
}

function explained(error: unknown): unknown {
  if (error instanceof SnapshotError) return new StartError(`Nothing was restored. ${printable(error.message)}`);
  const { code } = error as NodeJS.ErrnoException;
  if (!code?.startsWith('Z_')) return error;
  return new StartError(`Nothing was restored. The backup is damaged or cut off: ${messageOf(error)}.`);
}
