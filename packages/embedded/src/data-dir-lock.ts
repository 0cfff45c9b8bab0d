import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DataType, load, open } from 'ffi-rs';

/** Another process runs stores on this data directory. */
export class DataDirInUseError extends Error {
  override readonly name = 'DataDirInUseError';

  constructor(dataDir: string, pid: string) {
    super(`The data directory ${dataDir} is in use by process ${pid}. Stop it first, or choose another DATA_DIR.`);
  }
}

const lockExclusively = 2;
const doNotWait = 4;

/**
 * Claims the data directory, made if absent, for this process until `release` or until the process ends, however it
 * ends.
 * @throws DataDirInUseError when another process has it.
 */
export function lockDataDir(dataDir: string): { release(): void } {
  makeDataDir(dataDir);
  const lockFile = join(dataDir, 'lock');
  // flock(2) rather than a file with a process id: the kernel lets go of it at the holder's death, so that there is no
  // stale lock to recognise, and two starts at the same moment cannot both win. Node opens files close-on-exec: no
  // child holds it.
  const fd = openSync(lockFile, 'a+', 0o644);
  if (flock(fd, lockExclusively | doNotWait) !== 0) {
    closeSync(fd);
    throw new DataDirInUseError(dataDir, readFileSync(lockFile, 'utf8').trim() || '(starting)');
  }
  ftruncateSync(fd);
  writeSync(fd, `${process.pid}\n`);
  // The file stays when the lock is released: removing it would let a third process lock a file that no name leads to.
  return { release: () => closeSync(fd) };
}

function makeDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new Error(`The data directory ${dataDir} (DATA_DIR) cannot be used: ${reason}`);
  }
}

function flock(fd: number, operation: number): number {
  open({ library: 'libc', path: process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6' });
  return load({
    library: 'libc',
    funcName: 'flock',
    retType: DataType.I32,
    paramsType: [DataType.I32, DataType.I32],
    paramsValue: [fd, operation],
  });
}
